"""What is beyond a limit in an answer is left out and counted; what is known stays."""

from __future__ import annotations

import pytest

from rocketns.collect.observed import routes, settings
from rocketns.collect.observed.bounds import INT_MAX, LONG_MAX, MAPPING_IDS_MAX
from rocketns.collect.observing import Observed
from rocketns.config.limits import NAME_BYTES_MAX, Limits
from rocketns.protocol.body.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.protocol.bounds import BROKER_IDS_MAX, FILTER_SERVERS_MAX
from rocketns.routeinfo.events import Event
from tests.collect.observed.test_groups import QUEUES, A, group, joined, route, watched

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


def test_an_address_has_one_id_in_a_group() -> None:
    observed = watched()
    observed.groups({"b": group({2: A, 0: A, 1: "10.0.0.2:10911"})})
    assert observed.tables.broker_addr_table["b"].broker_addrs == {0: A, 1: "10.0.0.2:10911"}
    assert observed.left_out == 1


def test_a_group_has_so_many_ids_at_most_and_keeps_the_known_ones() -> None:
    observed = Observed()
    observed.groups({"b": group({-1: A})})
    observed.groups({"b": group({-1: A} | {one: f"a{one}" for one in range(BROKER_IDS_MAX)})})
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


@pytest.mark.parametrize("queues", [QueueData(INT_MAX + 1, 8, 6, 0), QueueData(8, 8, 6, -INT_MAX - 2)])
def test_queues_with_numbers_out_of_range_are_left_out(queues: QueueData) -> None:
    observed = watched()
    assert observed.route("t", route({"b": queues})) == []
    assert observed.left_out == 1


def test_a_topic_with_a_long_name_is_left_out() -> None:
    observed = watched()
    assert observed.route(LONG, route({"b": QUEUES})) == []
    assert observed.left_out == 1


@pytest.mark.parametrize("limits", [{"routes_max": 2}, {"broker_routes_max": 2}])
def test_there_are_so_many_routes_at_most_and_known_ones_change(limits: dict[str, int]) -> None:
    observed = limited(**limits)
    observed.groups({"b": group({0: A})})
    for topic in ("t", "u", "v"):
        observed.route(topic, route({"b": QUEUES}))
    assert list(observed.tables.topic_queue_table) == ["t", "u"]
    assert observed.route("u", route({"b": QueueData(1, 1, 6, 0)})) != []
    assert observed.left_out == 1


@pytest.mark.parametrize(
    "mapping",
    [
        TopicQueueMappingInfo("t", "b", dict.fromkeys(range(MAPPING_IDS_MAX + 1), 0)),
        TopicQueueMappingInfo("t", "b", {0: INT_MAX + 1}),
        TopicQueueMappingInfo("t", "b", {}, total_queues=INT_MAX + 1),
        TopicQueueMappingInfo("t", "b", {}, epoch=LONG_MAX + 1), TopicQueueMappingInfo(LONG, "b", {}),
    ],
)  # fmt: skip
def test_a_mapping_beyond_the_limits_is_left_out(mapping: TopicQueueMappingInfo) -> None:
    observed = watched("t")
    assert observed.route("t", route({"b": QUEUES}, mapping)) == []
    assert observed.left_out == 1


def test_a_mapping_of_a_broker_without_the_topic_is_none() -> None:
    observed = watched("t")
    for mapping in (TopicQueueMappingInfo("t", None, {}), TopicQueueMappingInfo("t", "other", {})):
        assert observed.route("t", route({"b": QUEUES}, mapping)) == []


@pytest.mark.parametrize("servers", [[LONG], ["f"] * (FILTER_SERVERS_MAX + 1)])
def test_filter_servers_beyond_the_limits_are_left_out(servers: list[str | None]) -> None:
    observed = watched("t")
    assert observed.route("t", TopicRouteData([("b", QUEUES)], [], {A: servers})) == []
    assert observed.left_out == 1


def test_so_many_topics_wait_for_their_brokers_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "EARLY_MAX", 2)
    observed = Observed()
    for topic in ("t", "u", "v"):
        observed.route(topic, route({"b": QUEUES, LONG: QUEUES}))
    observed.groups({"b": group({0: A})})
    assert list(observed.tables.topic_queue_table) == ["t", "u"]
    assert observed.left_out == 4


def shown(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.key, event.value) for event in events]  # type: ignore[union-attr]


def test_items_of_a_namespace_change_and_go() -> None:
    observed = Observed()
    assert shown(observed.kv_items("n", {"k": "v", "l": "w"})) == [("k", "v"), ("l", "w")]
    assert shown(observed.kv_items("n", {"k": "other"})) == [("l", None), ("k", "other")]
    assert shown(observed.kv_items("n", {})) == [("k", None)]
    assert observed.kv == {}


def test_items_have_so_many_bytes_at_most_and_known_ones_stay() -> None:
    observed = limited(kv_bytes_max=7, kv_value_bytes_max=5)
    observed.kv_items("m", {"k": "v"})
    observed.kv_items("n", {"k": "vv"})
    assert shown(observed.kv_items("n", {"a": "vv", "b": "toolong", LONG: "", "k": "vv"})) == []
    assert observed.kv == {"m": {"k": "v"}, "n": {"k": "vv"}}
    assert observed.left_out == 3


def test_properties_change_and_one_that_is_gone_has_no_value() -> None:
    observed = Observed()
    assert shown(observed.configuration("a=1\nb=x=y\n\nodd")) == [("a", "1"), ("b", "x=y"), ("odd", "")]
    assert shown(observed.configuration("a=2\nodd=\n")) == [("b", ""), ("a", "2")]


def test_properties_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PROPERTIES_MAX", 2)
    monkeypatch.setattr(settings, "PROPERTY_BYTES_MAX", 3)
    observed = Observed()
    observed.configuration(f"a=1\nb=long\n{LONG}=1\nc=2\nd=3")
    assert observed.properties == {"a": "1", "c": "2"}
    assert observed.left_out == 3
