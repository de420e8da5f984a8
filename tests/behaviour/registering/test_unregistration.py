"""UNREGISTER_BROKER: answered at once, applied by a worker in batches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.conftest import Names
from tests.behaviour.steps import (
    query_version,
    registered,
    settle,
    unregister,
    unregister_ext,
)
from tests.behaviour.views import addrs, filter_servers, group, members, perms, route

CONTENTS = {
    "no ext": None,
    "empty ext": {},
    "unknown fields": {"x": "y"},
    "bad id": {"brokerName": "b", "brokerAddr": "a", "clusterName": "c", "brokerId": "x"},
    "no address": {"brokerName": "b", "clusterName": "c", "brokerId": "0"},
    "unknown broker": {"brokerName": "b", "brokerAddr": "a", "clusterName": "c", "brokerId": "0"},
}


@pytest.mark.parametrize("ext", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("body", [b"", b"x"], ids=["no body", "body"])
def test_any_content_succeeds_at_once(client: Client, ext: dict[str, str] | None, body: bytes) -> None:
    """B178: 104 any content."""
    answer = client.request(codes.UNREGISTER_BROKER, ext, body)
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)


def test_an_unregistration_keeps_topics_of_others(client: Client, names: Names) -> None:
    """B179: another broker keeps cluster and topic."""
    other = names.broker + "-b"
    registered(client, names)
    registered(client, names, host=2, brokerName=other)
    assert unregister(client, names).code == 0
    eventually(lambda: perms(client, names.topic("T")) == {other: 6})
    assert members(client, names.cluster) == [other]


def test_filter_servers_go_with_their_address(client: Client, names: Names) -> None:
    """B179: they stay removed when the broker comes back and does not mention them."""
    registered(client, names, filters=["10.9.9.9:1"])
    assert unregister(client, names).code == 0
    eventually(lambda: route(client, names.topic("T")) is None)
    registered(client, names, filters=None)
    assert filter_servers(client, names.topic("T")) == {}


def test_wrong_cluster_removes_the_group(server_class: type[NameServer], client: Client, names: Names) -> None:
    """B181: 104 wrong cluster: group removed. In Java its name stays in its cluster set."""
    registered(client, names)
    assert unregister(client, names, clusterName=names.cluster + "-2").code == 0
    eventually(lambda: route(client, names.topic("T")) is None)
    assert group(client, names.broker) is None
    assert members(client, names.cluster) == ([names.broker] if server_class.kind == "java" else None)
    # The live entry was searched in the wrong cluster.
    assert query_version(client, names, data_version()).ext == {"changed": "false"}


def test_missing_id_leaves_the_address(server_class: type[NameServer], client: Client, names: Names) -> None:
    """B182: 104 without id: group address stays, and is live. In Java it is no longer live, so it never expires."""
    registered(client, names)
    assert unregister(client, names, brokerId=None).code == 0
    settle(client)
    eventually(lambda: (query_version(client, names, data_version()).body is None) == (server_class.kind == "java"))
    assert addrs(client, names.broker) == {"0": names.addr()}
    assert perms(client, names.topic("T")) == {names.broker: 6}


def test_unknown_broker_changes_nothing(client: Client, names: Names) -> None:
    """B183: 104 unknown broker, unknown address of a known group."""
    registered(client, names)
    before = group(client, names.broker)
    assert unregister(client, names, brokerName=names.broker + "-b", brokerAddr=names.addr(2)).code == 0
    assert unregister(client, names, host=2).code == 0
    settle(client)
    assert group(client, names.broker) == before
    assert members(client, names.cluster) == [names.broker]
    assert query_version(client, names, data_version()).ext == {"changed": "false"}


def test_full_queue_is_refused_without_remark(
    start_server: Callable[..., NameServer], server_class: type[NameServer], names: Names
) -> None:
    """B184: 104 queue full: code 1 without remark.

    How many requests Java's worker removes meanwhile is a race, so of Java only the form of a refusal is checked.
    rocketns reads one whole segment before its worker runs.
    """
    number = 64
    requests = [frame(json_header(codes.UNREGISTER_BROKER, unregister_ext(names), opaque=i)) for i in range(number)]
    with start_server({"unRegisterBrokerQueueCapacity": 1}).connect() as client:
        client.send(b"".join(requests))
        answers = [client.receive() for _ in range(number)]
        settle(client)
    assert sorted(a.opaque for a in answers) == list(range(number))
    assert {(a.code, a.remark, a.ext, a.body) for a in answers} <= {(0, None, None, None), (1, None, None, None)}
    if server_class.kind == "rocketns":
        assert {a.code for a in answers} == {0, 1}


def test_write_bit_stays_when_a_slave_goes(client: Client, names: Names) -> None:
    """B185: the group still has its master."""
    registered(client, names, enableActingMaster="true")
    registered(client, names, host=2, broker_id=1, enableActingMaster="true")
    assert unregister(client, names, host=2, broker_id=1).code == 0
    eventually(lambda: addrs(client, names.broker) == {"0": names.addr(1)})
    assert perms(client, names.topic("T")) == {names.broker: 6}


def test_bad_request_in_a_batch(start_server: Callable[..., NameServer], server_class: type[NameServer]) -> None:
    """B182: one request without id among many good ones.

    In Java its exception drops the rest of its batch and the batch's clean-up of topics, so topics without a broker
    stay listed for ever. rocketns drops only the bad request.
    """
    good = [Names() for _ in range(20)]
    bad = json_header(codes.UNREGISTER_BROKER, {})
    with start_server().connect() as client:
        for names in good:
            registered(client, names)
        for names in good:
            client.send(frame(bad) * 10 + frame(json_header(codes.UNREGISTER_BROKER, unregister_ext(names))))
        for _ in range(11 * len(good)):
            assert client.receive().code == 0
        settle(client)
        left = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json()["topicList"]
    assert bool(left) == (server_class.kind == "java")
