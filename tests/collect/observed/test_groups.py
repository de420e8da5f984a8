"""What lists of groups and routes change, and which events say so."""

from __future__ import annotations

from rocketns.collect.observing import Observed
from rocketns.protocol.body.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.routeinfo.events import (
    BrokerDown,
    BrokerRegistered,
    Cause,
    Event,
    MappingsPut,
    TopicChange,
    TopicsDeleted,
    TopicsPut,
)

A, B = "10.0.0.1:10911", "10.0.0.2:10911"
QUEUES, MORE = QueueData(8, 8, 6, 0), QueueData(16, 16, 6, 0)


def group(addrs: dict[int, str], cluster: str | None = "c", name: str = "b", zone: str | None = None) -> BrokerData:
    return BrokerData(cluster, name, addrs, zone)


def route(queues: dict[str, QueueData], mapping: TopicQueueMappingInfo | None = None) -> TopicRouteData:
    return TopicRouteData(list(queues.items()), [], {}, None if mapping is None else {mapping.bname: mapping})


def joined(broker_id: int, addr: str, name: str = "b", cluster: str = "c") -> BrokerRegistered:
    return BrokerRegistered(cluster, name, addr, broker_id, None, None, None, None)


def down(broker_id: int, addr: str, cause: Cause = Cause.OBSERVED, cluster: str = "c") -> BrokerDown:
    return BrokerDown(cluster, "b", addr, broker_id, live=False, gap_ms=None, cause=cause)


def watched(*topics: str) -> Observed:
    """A master and its slave, with these topics."""
    observed = Observed()
    observed.groups({"b": group({0: A, 1: B})})
    for topic in topics:
        observed.route(topic, route({"b": QUEUES}))
    return observed


def test_an_address_with_another_id_registered_again() -> None:
    events = watched().groups({"b": group({0: B})})
    assert events == [down(0, A), down(1, B, Cause.REGISTER), joined(0, B)]


def test_a_group_of_another_cluster_is_made_anew_and_keeps_its_topics() -> None:
    observed = watched("t")
    events = observed.groups({"b": group({0: A}, cluster="d")})
    assert events == [down(0, A, Cause.REGISTER), down(1, B), joined(0, A, cluster="d")]
    assert observed.tables.cluster_addr_table == {"d": {"b"}}
    assert observed.tables.topic_queue_table == {"t": {"b": QUEUES}}


def test_a_group_that_is_gone_loses_all_topics_at_once() -> None:
    observed = watched("t", "u")
    assert observed.groups({}) == [down(0, A), down(1, B), TopicsDeleted("b", ["t", "u"], Cause.OBSERVED)]
    assert observed.tables.topic_queue_table == observed.tables.cluster_addr_table == {}


def test_a_group_without_an_address_is_gone() -> None:
    observed = watched("t")
    assert observed.groups({"b": group({})})[-1] == TopicsDeleted("b", ["t"], Cause.OBSERVED)
    assert observed.tables.broker_addr_table == {}


def changed(topic: str, old: QueueData | None, new: QueueData) -> TopicsPut:
    return TopicsPut("b", [TopicChange(topic, old, new)], Cause.OBSERVED)


def test_a_topic_of_a_broker_that_is_not_listed_yet_comes_with_it() -> None:
    observed = Observed()
    assert observed.route("t", route({"b": QUEUES})) == []
    assert observed.groups({"b": group({0: A})}) == [joined(0, A), changed("t", None, QUEUES)]


def test_a_topic_that_went_before_its_broker_was_listed_does_not_come_with_it() -> None:
    observed = Observed()
    for topic in ("t", "u"):
        observed.route(topic, route({"b": QUEUES}))
    observed.route("t", None)
    observed.topic_names(["t"])
    assert observed.groups({"b": group({0: A})}) == [joined(0, A)]


def test_a_topic_of_a_broker_that_the_next_list_lacks_is_forgotten() -> None:
    observed = Observed()
    observed.route("t", route({"b": QUEUES}))
    observed.groups({})
    assert observed.groups({"b": group({0: A})}) == [joined(0, A)]


def test_a_static_mapping_comes_with_its_broker_and_goes_with_a_topic_that_comes_again() -> None:
    observed, mapping = Observed(), TopicQueueMappingInfo("t", "b", {0: 1})
    observed.route("t", route({"b": QUEUES}, mapping))
    assert observed.groups({"b": group({0: A})})[-1] == MappingsPut("b", [("t", mapping)])
    assert observed.route("t", route({"b": QUEUES}, mapping)) == []
    assert observed.route("t", route({"b": QUEUES})) == [
        TopicsDeleted("b", ["t"], Cause.OBSERVED), changed("t", None, QUEUES),
    ]  # fmt: skip


def test_filter_servers_belong_to_an_address_and_go_with_it() -> None:
    observed = watched("t")
    found = TopicRouteData([("b", QUEUES)], [], {A: ["f:1"], B: None})
    events: list[Event] = [joined(0, A)]
    assert observed.route("t", found) == events
    assert observed.tables.filter_server_table == {("c", A): ["f:1"]}
    observed.groups({"b": group({1: B})})
    assert observed.tables.filter_server_table == {}
    assert observed.tables.changed_groups == set()
