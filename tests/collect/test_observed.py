"""What lists of groups and routes change, which events say so, and what is beyond a limit."""

from __future__ import annotations

import pytest

from rocketns.collect import observing
from rocketns.collect.observing import INT_MAX, Observed
from rocketns.config.limits import NAME_BYTES_MAX, Limits
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.routeinfo.events import (
    BrokerDown,
    BrokerRegistered,
    Cause,
    Event,
    TopicChange,
    TopicsDeleted,
    TopicsPut,
)

A, B = "10.0.0.1:10911", "10.0.0.2:10911"
QUEUES, MORE = QueueData(8, 8, 6, 0), QueueData(16, 16, 6, 0)


def group(addrs: dict[int, str], cluster: str | None = "c", name: str = "b", zone: str | None = None) -> BrokerData:
    return BrokerData(cluster, name, addrs, zone)


def route(queues: dict[str, QueueData]) -> TopicRouteData:
    return TopicRouteData(list(queues.items()), [], {})


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


def test_a_group_of_another_cluster_goes_and_comes() -> None:
    observed = watched("t")
    events = observed.groups({"b": group({0: A}, cluster="d")})
    gone = [down(0, A), down(1, B), TopicsDeleted("b", ["t"], Cause.OBSERVED)]
    assert events == [*gone, joined(0, A, cluster="d")]
    assert observed.tables.cluster_addr_table == {"d": {"b"}}


def test_a_group_that_is_gone_loses_all_topics_at_once() -> None:
    observed = watched("t", "u")
    assert observed.groups({}) == [down(0, A), down(1, B), TopicsDeleted("b", ["t", "u"], Cause.OBSERVED)]
    assert observed.tables.topic_queue_table == observed.tables.cluster_addr_table == {}


def changed(topic: str, old: QueueData | None, new: QueueData) -> TopicsPut:
    return TopicsPut("b", [TopicChange(topic, old, new)], Cause.OBSERVED)


def test_a_topic_of_a_broker_that_is_in_no_group_is_not_there() -> None:
    observed = Observed()
    assert observed.route("t", route({"b": QUEUES})) == []
    assert observed.groups({"b": group({0: A})}) == [joined(0, A)]


LONG = "x" * (NAME_BYTES_MAX + 1)


def limited(**limits: int) -> Observed:
    return Observed(Limits(**limits))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (LONG, group({0: A}, name=LONG)), ("b", group({0: A}, cluster=LONG)), ("b", group({0: A}, zone=LONG)),
        ("b", group({0: A}, cluster=None)), ("b", group({0: LONG})), ("b", group({0: ""})),
        ("b", group({INT_MAX + 1: A})), ("b", group({-INT_MAX - 2: A})),
    ],
)  # fmt: skip
def test_a_group_that_no_broker_could_register_is_left_out(name: str, data: BrokerData) -> None:
    observed = Observed()
    assert observed.groups({name: data}) == []
    assert observed.left_out == 1


def test_a_group_has_so_many_ids_at_most_and_keeps_the_known_ones() -> None:
    observed = Observed()
    observed.groups({"b": group({-1: A})})
    observed.groups({"b": group({one: f"a{one}" for one in range(BROKER_IDS_MAX)} | {-1: A})})
    assert len(observed.tables.broker_addr_table["b"].broker_addrs) == observed.tables.members == BROKER_IDS_MAX
    assert observed.tables.broker_addr_table["b"].broker_addrs[-1] == A
    assert observed.left_out == 1


def test_there_are_so_many_brokers_at_most_and_known_ones_stay() -> None:
    observed = limited(brokers_max=2)
    observed.groups({"b": group({0: A})})
    found = {name: group({0: name}, name=name) for name in ("x", "y")} | {"b": group({0: A})}
    assert observed.groups(found) == [joined(0, "x", "x")]
    assert observed.groups({"b": group({0: A, 1: "new"}), "x": found["x"]}) == []
    assert observed.left_out == 2


def test_there_are_so_many_routes_at_most_and_known_ones_change() -> None:
    observed = limited(routes_max=2)
    observed.groups({"b": group({0: A})})
    for topic in ("t", "u", "v"):
        observed.route(topic, route({"b": QUEUES}))
    assert list(observed.tables.topic_queue_table) == ["t", "u"]
    assert observed.route("u", route({"b": QueueData(1, 1, 6, 0)})) != []
    assert observed.left_out == 1


def test_a_number_that_the_journal_has_no_room_for_is_left_out() -> None:
    observed = watched()
    assert observed.route("t", route({"b": QueueData(INT_MAX + 1, 8, 6, 0)})) == []
    assert observed.left_out == 1


def shown(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.key, event.value) for event in events]  # type: ignore[union-attr]


def test_items_of_a_namespace_change_and_go() -> None:
    observed = Observed()
    assert shown(observed.kv_items("n", {"k": "v", "l": "w"})) == [("k", "v"), ("l", "w")]
    assert shown(observed.kv_items("n", {"k": "other"})) == [("l", None), ("k", "other")]
    assert shown(observed.kv_items("n", {})) == [("k", None)]
    assert observed.kv == {}


def test_items_and_properties_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "PROPERTY_BYTES_MAX", 3)
    observed = limited(kv_value_bytes_max=5)
    observed.kv_items("n", {"a": "vv", "b": "toolong", LONG: ""})
    assert observed.kv == {"n": {"a": "vv"}}
    observed.configuration(f"a=1\nb=long\n{LONG}=1\nc=2")
    assert observed.properties == {"a": "1", "c": "2"}
    assert observed.left_out == 4
