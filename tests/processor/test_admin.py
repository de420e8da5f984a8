"""Requests of tools: cluster info, topic lists, deletion, permissions."""

from __future__ import annotations

import pytest

from rocketns.protocol.command import Reply
from rocketns.routeinfo.events import AdminRequested, TopicsDeleted, TopicsPut
from tests.processor.asking import World


def test_cluster_info(world: World) -> None:
    """B216."""
    assert world.ask(106, {"any": "field"}, b"any body") == Reply(body=b'{"brokerAddrTable":{},"clusterAddrTable":{}}')
    world.register("T1", "T2")
    assert b'"clusterAddrTable":{"C1":["broker-a"]}' in (world.ask(106).body or b"")


def test_permissions_are_counted_and_told(world: World) -> None:
    """B219, B220."""
    world.register("T1", "T2")
    world.context.take_events()
    assert world.ask(205, {"brokerName": "broker-a"}) == Reply(ext_fields={"wipeTopicCount": "2"})
    assert world.ask(327, {"brokerName": "broker-a"}) == Reply(ext_fields={"addTopicCount": "2"})
    events = [type(event) for event in world.context.take_events()]
    assert events == [TopicsPut, AdminRequested, TopicsPut, AdminRequested]
    for ext in (None, {}, {"brokerName": "nobody"}):
        assert world.ask(205, ext) == Reply(ext_fields={"wipeTopicCount": "0"})
        assert world.ask(327, ext) == Reply(ext_fields={"addTopicCount": "0"})


def test_the_list_of_all_topics_may_be_switched_off(world: World) -> None:
    """B221."""
    world.register("T1", "T2")
    assert world.ask(206) == Reply(body=b'{"topicList":["T1","T2"]}')
    world.configuration.namesrv.enable_all_topic_list = False
    assert world.ask(206) == Reply(1, "disable")


@pytest.mark.parametrize("code", [224, 311, 312, 313])
def test_the_other_topic_lists_may_be_switched_off(world: World, code: int) -> None:
    """B230, B231, B233."""
    assert world.ask(code) == world.ask(code, {"cluster": "C9"}) == Reply(body=b'{"topicList":[]}')
    world.configuration.namesrv.enable_topic_list = False
    assert world.ask(code) == Reply(1, "disable")


def test_system_topics_are_never_switched_off(world: World) -> None:
    """B232."""
    world.configuration.namesrv.enable_topic_list = world.configuration.namesrv.enable_all_topic_list = False
    assert world.ask(304) == Reply(body=b'{"topicList":[]}')
    world.register("T1", "T2")
    assert world.ask(304) == Reply(body=b'{"brokerAddr":"10.0.0.1:10911","topicList":["C1","broker-a"]}')


def test_topics_of_a_cluster(world: World) -> None:
    """B230."""
    world.register("T1", "T2")
    world.register("T2", "T3", cluster="C2", broker="broker-b", addr="10.0.0.2:10911")
    assert world.ask(224, {"cluster": "C2"}) == Reply(body=b'{"topicList":["T2","T3"]}')


@pytest.mark.parametrize(
    ("ext", "left"),
    [
        ({"topic": "T1"}, "T2"),
        ({"topic": "T1", "clusterName": ""}, "T2"),
        ({"topic": "T1", "clusterName": "C1"}, "T2"),
        ({"topic": "T1", "clusterName": "C9"}, "T1 T2"),
        ({"topic": "T9"}, "T1 T2"),
        ({}, "T1 T2"),
        (None, "T1 T2"),
    ],
    ids=str,
)
def test_deleting_is_always_a_success(world: World, ext: dict[str, str] | None, left: str) -> None:
    """B222, B223, B224."""
    world.register("T1", "T2")
    world.context.take_events()
    assert world.ask(216, ext) == Reply()
    assert world.context.tables.topic_queue_table.keys() == set(left.split())
    told = [event for event in world.context.take_events() if isinstance(event, TopicsDeleted)]
    assert len(told) == 2 - len(left.split())
