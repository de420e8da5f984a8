"""Static topics: the queue mappings that brokers register and routes show."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness.payloads import data_version, register_body, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, configs, register_with, registered, unregister
from tests.behaviour.views import ask_route, perms, route


def mapping(names: Names, topic: str, *, bname: str | None = None, epoch: int = 7) -> dict[str, Any]:
    """TopicQueueMappingInfo of one topic under its name, with every field."""
    return {
        "bname": bname or names.broker,
        "currIdMap": {"0": 0, "1": 1},
        "dirty": False,
        "epoch": epoch,
        "scope": "__global__",
        "topic": topic,
        "totalQueues": 8,
    }


def shown(client: Client, topic: str) -> Any:
    return route(client, topic).get("topicQueueMappingByBroker")


def test_mapping_with_unquoted_numeric_keys_is_read(client: Client, names: Names) -> None:
    """B162: a real broker's fastjson writes currIdMap with bare keys. The route quotes them or not, by dialect."""
    body = register_body(configs(names, TWO_TOPICS), mapping={names.topic("T"): mapping(names, names.topic("T"))})
    unquoted = body.replace(b'{"0":0,"1":1}', b"{0:0,1:1}")
    assert unquoted != body
    assert register_with(client, names, unquoted).code == 0
    assert b'"currIdMap":{"0":0,"1":1}' in (ask_route(client, names.topic("T")).body or b"")
    assert b'"currIdMap":{0:0,1:1}' in (ask_route(client, names.topic("T"), version=0).body or b"")


def test_a_broker_with_50000_topics_may_have_static_ones(client: Client, names: Names) -> None:
    """B162: each topic counts as some 20 JSON values. The limit of 500,000 is for JSON that brokers do not write."""
    topics = [*configs(names, TWO_TOPICS), *(topic_config(f"{names.topic('T')}-{n}") for n in range(50_000))]
    one = mapping(names, names.topic("T"))
    body = register_body(topics, mapping={names.topic("T"): one})
    assert register_with(client, names, body.replace(b'{"0":0,"1":1}', b"{0:0,1:1}")).code == 0
    assert shown(client, names.topic("T")) == {names.broker: one}
    assert perms(client, f"{names.topic('T')}-49999") == {names.broker: 6}


def test_new_version_without_mapping_keeps_it(client: Client, names: Names) -> None:
    """B162: what a registration does not name stays."""
    topic = names.topic("T")
    registered(client, names, mapping={topic: mapping(names, topic)})
    registered(client, names, version=data_version(2))
    assert shown(client, topic) == {names.broker: mapping(names, topic)}


def test_mapping_is_under_its_own_broker_name(server_class: type[NameServer], client: Client, names: Names) -> None:
    """B162: the mapping's bname counts, not the broker that registers it. Java keeps any, rocketns those of brokers
    that have the topic.
    """
    topic, other = names.topic("T"), names.broker + "-x"
    registered(client, names, mapping={topic: mapping(names, topic)})
    registered(client, names, mapping={topic: mapping(names, topic, bname=other)}, version=data_version(2))
    assert set(shown(client, topic)) == ({names.broker, other} if server_class.kind == "java" else {names.broker})
    registered(client, names, host=2, brokerName=other)
    registered(client, names, mapping={topic: mapping(names, topic, bname=other)}, version=data_version(3))
    assert set(shown(client, topic)) == {names.broker, other}


def test_mapping_with_the_same_version_is_ignored(client: Client, names: Names) -> None:
    """B163: static mapping, same DataVersion."""
    topic = names.topic("T")
    registered(client, names)
    registered(client, names, mapping={topic: mapping(names, topic)})
    assert shown(client, topic) is None


def test_master_that_returns_brings_its_mapping_with_the_same_version(client: Client, names: Names) -> None:
    """B163: the DataVersion of an address that is not registered is unknown, so it counts as changed."""
    topic = names.topic("T")
    registered(client, names)
    assert unregister(client, names).code == 0
    eventually(lambda: route(client, topic) is None)
    registered(client, names, mapping={topic: mapping(names, topic)})
    assert shown(client, topic) == {names.broker: mapping(names, topic)}


@pytest.mark.parametrize("acting", [None, "false"])
def test_slave_brings_no_mapping_while_there_is_a_master(client: Client, names: Names, acting: str | None) -> None:
    """B162: mappings go with topics: only from a master or the smallest slave of a new version."""
    topic = names.topic("T")
    registered(client, names)
    registered(client, names, host=2, broker_id=1, mapping={topic: mapping(names, topic)}, enableActingMaster=acting)
    assert shown(client, topic) is None


def test_mapping_of_a_broker_that_left(server_class: type[NameServer], client: Client, names: Names) -> None:
    """B164: static mapping after its broker is gone, topic registered by another. In Java it is still in the route."""
    topic, other = names.topic("T"), names.broker + "-b"
    registered(client, names, mapping={topic: mapping(names, topic)})
    assert unregister(client, names).code == 0
    eventually(lambda: route(client, topic) is None)
    registered(client, names, host=2, brokerName=other)
    assert perms(client, topic) == {other: 6}
    stays = {names.broker: mapping(names, topic)} if server_class.kind == "java" else None
    assert shown(client, topic) == stays
