"""What a peer puts into the route tables ends with its connection, its heartbeats, its broker or its topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, settle, unregister
from tests.behaviour.views import cluster_info, filter_servers, members, perms, route, topic_list

EMPTY: dict[str, dict[str, str]] = {"brokerAddrTable": {}, "clusterAddrTable": {}}


@pytest.fixture
def server(shared_server: NameServer) -> NameServer:
    """One for all tests: the tables of each begin empty."""
    return shared_server


@pytest.fixture
def asking(server: NameServer) -> Iterator[Client]:
    """A peer that registers nothing."""
    with server.connect() as connection:
        eventually(lambda: cluster_info(connection) == EMPTY)
        yield connection


@pytest.fixture
def names() -> Names:
    return Names()


def assert_all_ends(client: Client) -> None:
    """No group, no cluster and no topic is left."""
    eventually(lambda: cluster_info(client) == EMPTY)
    assert topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == []


def test_a_closed_connection_ends_all_that_came_over_it(server: NameServer, asking: Client, names: Names) -> None:
    """Each group of its address, and each broker."""
    with server.connect() as client:
        for number in range(40):
            registered(client, names, brokerName=f"{names.broker}-{number}")
            registered(client, Names())
    assert_all_ends(asking)


def test_a_closed_connection_ends_what_it_registered_under_other_clusters(
    server: NameServer, asking: Client, names: Names
) -> None:
    """One broker, whose entry of each cluster ends on its own."""
    with server.connect() as client:
        registered(client, names)
        for number in range(40):
            registered(client, names, host=2, broker_id=1, clusterName=f"{names.cluster}-{number}")
        assert members(asking, f"{names.cluster}-39") == [names.broker]
    assert_all_ends(asking)


@pytest.mark.parametrize(
    "changes",
    [{"clusterName": "other"}, {"brokerId": None}, {"brokerName": "other"}, {"brokerName": None}],
    ids=["wrong-cluster", "no-id", "wrong-name", "no-name"],
)
def test_an_odd_unregistration_leaves_nothing_without_end(
    server: NameServer, asking: Client, names: Names, changes: dict[str, Any]
) -> None:
    with server.connect() as client:
        registered(client, names)
        assert unregister(client, names, **changes).code == 0
        settle(client)
    assert_all_ends(asking)


def test_filter_servers_end_with_a_broker_that_lost_its_id(server: NameServer, asking: Client, names: Names) -> None:
    """It registers an id whose holder has a higher stateVersion, and is not live from then on."""
    registered(asking, names, version=data_version(1, state=2))
    with server.connect() as client:
        registered(client, names, host=2, broker_id=1, filters=["f:1"], version=data_version(1, state=1))
        registered(client, names, host=2, version=data_version(1, state=1))
    registered(asking, names, host=2, broker_id=1, filters=None)
    assert names.addr(2) not in filter_servers(asking, names.topic("T"))


IDS = {"0": 0, "1": 1}


@pytest.fixture
def client(shared_server: NameServer) -> Iterator[Client]:
    with shared_server.connect() as connection:
        yield connection


def mapping(bname: str, topic: str, ids: dict[str, int] = IDS) -> dict[str, Any]:
    return {"topic": topic, "bname": bname, "totalQueues": 8, "epoch": 7, "scope": "__global__", "currIdMap": ids}


def shown(client: Client, topic: str) -> set[str]:
    return set(route(client, topic).get("topicQueueMappingByBroker") or ())


def delete_topic(client: Client, topic: str) -> None:
    assert client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}).code == 0


def test_a_mapping_ends_with_its_broker(client: Client, names: Names) -> None:
    topic, other = names.topic("T"), f"{names.broker}-b"
    registered(client, names, mapping={topic: mapping(names.broker, topic)})
    assert shown(client, topic) == {names.broker}
    assert unregister(client, names).code == 0
    eventually(lambda: route(client, topic) is None)
    registered(client, names, host=2, brokerName=other)
    assert perms(client, topic) == {other: 6}
    assert shown(client, topic) == set()


def test_a_mapping_ends_with_its_topic(client: Client, names: Names) -> None:
    topic = names.topic("T")
    registered(client, names, mapping={topic: mapping(names.broker, topic)})
    delete_topic(client, topic)
    registered(client, names, version=data_version(2))
    assert shown(client, topic) == set()


def test_a_mapping_of_a_broker_without_the_topic_is_not_kept(client: Client, names: Names) -> None:
    topic = names.topic("T")
    registered(client, names, mapping={topic: mapping("another", topic), "none": mapping(names.broker, "none")})
    assert shown(client, topic) == set()
