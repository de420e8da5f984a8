"""Names beyond rocketns.nameBytesMax in a journal, or at another name server: only they are left out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.payloads import topic_config
from interop.harness.wire import Client
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.fleet.answers import differing_digests, differing_groups, topic_names
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import TopicQueueMappingInfo, queue_data
from rocketns.routeinfo.prior_routes import PriorRoutes, leave_out_long_names
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import cluster_info, route, topic_list
from tests.support.inprocess import TimedServer

LONG, LONGEST = "x" * (NAME_BYTES_MAX + 1), "x" * NAME_BYTES_MAX
LARGER = {"rocketns.nameBytesMax": NAME_BYTES_MAX * 2}
QUEUES = queue_data(8, 8, 6, 0)


def register_all(client: Client, names: Names) -> None:
    """A broker with a long topic beside another, one with a long address, and one with a long name."""
    registered(client, names, [topic_config(LONG), topic_config(LONGEST), topic_config(names.topic("T"))])
    for field in ("brokerAddr", "brokerName"):
        registered(client, Names(), [topic_config(names.topic("U")), topic_config(LONGEST)], **{field: LONG})


def assert_short_names(client: Client, names: Names) -> None:
    assert set(cluster_info(client)["brokerAddrTable"]) == {names.broker}
    assert topic_list(client, 206) == sorted([LONGEST, names.topic("T")])
    assert [one["brokerName"] for one in route(client, LONGEST)["queueDatas"]] == [names.broker]


def test_a_journal_with_longer_names(
    serve: Callable[..., TimedServer], names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    first = serve(**LARGER)
    with first.connect() as client:
        register_all(client, names)
        first.stop()
    with caplog.at_level(logging.WARNING), serve().connect() as client:
        assert_short_names(client, names)
    lines = [line for line in caplog.messages if "nameBytesMax" in line]
    assert lines == [
        "3 brokers, topics and other entries are not restored: their names have more than "
        f"rocketns.nameBytesMax={NAME_BYTES_MAX} bytes"
    ]


def test_another_name_server_with_longer_names(serve: Callable[..., TimedServer], names: Names, tmp_path: Path) -> None:
    (tmp_path / "seed").mkdir()
    with TimedServer(tmp_path / "seed", LARGER) as seed, seed.connect() as client:
        register_all(client, names)
        server = serve(**{"rocketns.seedServers": f"127.0.0.1:{seed.port}"})
        with server.connect() as seeded:
            assert_short_names(seeded, names)


def known() -> PriorRoutes:
    routes = PriorRoutes(topics={"T": {"b": QUEUES}}, mappings={"T": {"b": TopicQueueMappingInfo("T", "b")}})
    routes.put_group("empty", "C")
    for broker_id, addr in enumerate(("a:1", "a:2")):
        routes.put_broker("b", broker_id, "C", addr, "C").filter_servers = ["f"]
    return routes


def test_short_names_stay() -> None:
    routes = known()
    assert leave_out_long_names(routes, NAME_BYTES_MAX) == 0
    assert routes == known()


@pytest.mark.parametrize(("cluster", "addr", "ha"), [(LONG, "a:2", None), ("C", LONG, None), ("C", "a:2", LONG)])
def test_a_broker_with_a_long_name(cluster: str, addr: str, ha: str | None) -> None:
    """Its group stays while it has others, and its topics with it."""
    routes = known()
    routes.put_broker("b", 1, cluster, addr, "C").ha_server_addr = ha
    assert leave_out_long_names(routes, NAME_BYTES_MAX) == 1
    assert (routes.groups["b"].brokers.keys(), routes.lives.keys()) == ({0}, {("C", "a:1")})
    assert routes.topics == known().topics


def test_a_group_of_brokers_with_long_names_alone() -> None:
    routes = known()
    for live in routes.lives.values():
        live.ha_server_addr = LONG
    assert leave_out_long_names(routes, NAME_BYTES_MAX) == 2
    assert (routes.groups.keys(), routes.topics, routes.lives) == ({"empty"}, {}, {})


@pytest.mark.parametrize("change", [{"cluster": LONG}, {"zone_name": LONG}])
def test_a_group_with_a_long_name(change: dict[str, str]) -> None:
    routes = known()
    for name, text in change.items():
        setattr(routes.groups["b"], name, text)
    assert leave_out_long_names(routes, NAME_BYTES_MAX) == 1
    assert (routes.groups.keys(), routes.topics, routes.lives) == ({"empty"}, {}, {})


def test_a_long_filter_server_topic_and_mapping() -> None:
    routes = known()
    routes.lives["C", "a:1"].filter_servers = [LONG, "f", None, LONG]
    routes.topics[LONG] = {"b": QUEUES}
    routes.mappings |= {LONG: {"b": TopicQueueMappingInfo()}, "U": {"b": TopicQueueMappingInfo(scope=LONG)}}
    routes.mappings["T"][LONG] = TopicQueueMappingInfo()
    assert leave_out_long_names(routes, NAME_BYTES_MAX) == 6
    assert routes.lives["C", "a:1"].filter_servers == ["f", None]
    assert (routes.topics, routes.mappings) == (known().topics, known().mappings)


@pytest.mark.parametrize("place", ["name", "cluster", "zoneName", "brokerAddrs"])
def test_long_names_of_a_peer_are_left_out(place: str) -> None:
    """A difference of two name servers is kept, logged and shown."""
    group = {"brokerName": "b", "cluster": "C", "zoneName": "z", "brokerAddrs": {"0": "a"}}
    text, name = {"brokerAddrs": {"0": LONG}}.get(place, LONG), LONG if place == "name" else "b"
    body = json.dumps({"brokerAddrTable": {name: group | ({} if place == "name" else {place: text})}}).encode()
    own = {"b": GroupView("C", ((0, "a"),), "z", False)}
    assert differing_groups({}, body, NAME_BYTES_MAX) == (0, 0, [], frozenset())
    assert differing_groups(own, body, NAME_BYTES_MAX) == (0, 1, [("b", own["b"], None)], {"b"})
    assert differing_groups({}, body, NAME_BYTES_MAX + 1)[:2] == (1, 1)


def test_topics_of_a_peer_with_long_names_are_left_out() -> None:
    assert topic_names(["T"], json.dumps({"topicList": [LONG, "T"]}).encode(), NAME_BYTES_MAX) == (["T"], [])
    body = json.dumps({"table": {LONG: "1", "T": "2"}}).encode()
    assert differing_digests({}, body, NAME_BYTES_MAX, {}) == (1, {}, [("T", None, 2)], [])
