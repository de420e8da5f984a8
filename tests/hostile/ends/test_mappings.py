"""Mappings of static topics end with their topic and their broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, unregister
from tests.behaviour.views import perms, route

IDS = {"0": 0, "1": 1}


@pytest.fixture
def names() -> Names:
    return Names()


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


def test_a_topic_that_returns_brings_its_mapping(client: Client, names: Names) -> None:
    """With the same data version: in Java the mapping was never gone."""
    topic = names.topic("T")
    one = {topic: mapping(names.broker, topic)}
    registered(client, names, mapping=one)
    delete_topic(client, topic)
    registered(client, names, mapping=one)
    assert shown(client, topic) == {names.broker}


def test_a_mapping_of_a_broker_without_the_topic_is_not_kept(client: Client, names: Names) -> None:
    topic = names.topic("T")
    registered(client, names, mapping={topic: mapping("another", topic), "none": mapping(names.broker, "none")})
    assert shown(client, topic) == set()
