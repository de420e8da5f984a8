"""Mappings of static topics end with their topic and their broker, and a broker has a bounded number of them."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from rocketns.protocol.bounds import MAPPINGS_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register_with, registered, unregister
from tests.behaviour.views import perms, route

IDS = {"0": 0, "1": 1}
PART = 4_000


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def client(server: NameServer) -> Client:
    return server.connect()


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


def test_what_is_kept_of_one_broker_is_bounded(client: Client, names: Names) -> None:
    """Each registration has other topics, and the earlier topics stay. The mappings that came first go."""
    registered(client, names)
    parts = -(-MAPPINGS_MAX // PART) + 1
    for part in range(parts):
        topics = [names.topic(f"{part}-{index}") for index in range(PART)]
        mappings = {topic: mapping(names.broker, topic) for topic in topics}
        body = register_body([topic_config(topic) for topic in topics], data_version(part + 2), mapping=mappings)
        assert register_with(client, names, body).code == 0
    left = PART * parts - MAPPINGS_MAX
    with_mapping = [bool(shown(client, names.topic(f"{at // PART}-{at % PART}"))) for at in (0, left - 1, left)]
    assert with_mapping == [False, False, True]
    assert perms(client, names.topic("0-0")) == {names.broker: 6}
