"""Registrations that conflict with existing ones, and missing names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered, settle_closes, unregister
from tests.behaviour.views import addrs, cluster_info, group, members, perms, route

EMPTY = {"brokerAddrTable": {}, "clusterAddrTable": {}}


@pytest.mark.parametrize("state", [2, 3])
def test_newcomer_with_equal_or_higher_state_version_replaces(client: Client, names: Names, state: int) -> None:
    """B156: other address, same id, equal or higher stateVersion."""
    registered(client, names, version=data_version(5, state=2))
    registered(client, names, host=2, version=data_version(1, state=state), perm=4)
    assert addrs(client, names.broker) == {"0": names.addr(2)}
    assert perms(client, names.topic("T")) == {names.broker: 4}


def test_holder_that_is_not_live_is_replaced(client: Client, names: Names) -> None:
    """B156: a holder of another cluster has no live entry in this one, whatever its stateVersion."""
    registered(client, names, version=data_version(1, state=9))
    registered(client, names, host=2, clusterName=names.cluster + "-2", version=data_version(1, state=1))
    assert addrs(client, names.broker) == {"0": names.addr(2)}


def test_registration_without_broker_name(
    start_server: Callable[..., NameServer], server_class: type[NameServer], names: Names
) -> None:
    """B143: missing broker name: code 0.

    Java keeps a null in the cluster's set, on which ``mqadmin clusterList`` crashes; rocketns stores nothing.
    """
    with start_server().connect() as client:
        answer = register(client, names, brokerName=None)
        assert (answer.code, answer.ext, answer.body) == (0, {}, None)
        leftover = {names.cluster: [None]} if server_class.kind == "java" else {}
        assert cluster_info(client) == EMPTY | {"clusterAddrTable": leftover}
        assert route(client, names.topic("T")) is None
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json() == {"topicList": []}


def test_registration_without_address(
    start_server: Callable[..., NameServer], server_class: type[NameServer], names: Names
) -> None:
    """B144: missing address: code 0.

    Java keeps a group with a null address, which breaks the clean-up of others in its cluster; rocketns stores nothing.
    """
    with start_server().connect() as client:
        answer = register(client, names, brokerAddr=None, haServerAddr=None)
        assert (answer.code, answer.ext, answer.body) == (0, {}, None)
        if server_class.kind == "java":
            assert members(client, names.cluster) == [names.broker]
            assert addrs(client, names.broker) == {}
        else:
            assert cluster_info(client) == EMPTY
            assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json() == {"topicList": []}


def test_registration_without_address_does_not_bar_the_name(
    start_server: Callable[..., NameServer], names: Names
) -> None:
    """B144: a broker of the same name and cluster can still register, and unregister."""
    with start_server().connect() as client:
        register(client, names, brokerAddr=None)
        registered(client, names)
        assert (addrs(client, names.broker) or {})["0"] == names.addr()
        assert unregister(client, names).code == 0
        eventually(lambda: route(client, names.topic("T")) is None)
        assert cluster_info(client) == EMPTY


def test_registration_without_address_harms_no_other(
    start_server: Callable[..., NameServer], server_class: type[NameServer]
) -> None:
    """B144: brokers of its cluster go when their connections close.

    In Java, brokers whose names follow the group with the null address in hash order stay (for names of one letter that
    is the order of letters). In rocketns there is no such group.
    """
    server = start_server()
    others = {"A": Names(), "Z": Names()}
    with server.connect() as asking:
        register(asking, Names(), clusterName="C", brokerName="G", brokerAddr=None)
        for broker, one in others.items():
            with server.connect() as client:
                registered(client, one, clusterName="C", brokerName=broker)
        settle_closes(server)
        left = [broker for broker in others if group(asking, broker)]
    assert left == (["Z"] if server_class.kind == "java" else [])
