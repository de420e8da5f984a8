"""A journal of a real name server has what was registered with it, and what changed while it was watched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.relay import Relay
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered, unregister_ext
from tests.collect.wire.collecting import Collecting, addr, codes_of

KINDS = [
    pytest.param(RocketnsServer, id="rocketns"),
    pytest.param(JavaNameServer, id="java", marks=[pytest.mark.java, pytest.mark.slow]),
]
ALLOWED = {
    codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    codes.GET_KVLIST_BY_NAMESPACE, codes.GET_NAMESRV_CONFIG,
}  # fmt: skip
OF_A_CHANGE = ("reg", "down", "tput", "tdel", "kv", "config", "group", "map")


@pytest.fixture(params=KINDS)
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NameServer]:
    server = request.param(tmp_path / "server")
    yield server
    server.kill()


@pytest.fixture
def relay(watched: NameServer) -> Iterator[Relay]:
    """What the collector connects to: it keeps what passes, and can be cut."""
    one = Relay(watched.port)
    yield one
    one.close()


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def broker(watched: NameServer, names: Names) -> Iterator[Client]:
    """The connection of a broker with two topics: it is there as long as this is open."""
    with watched.connect() as client:
        registered(client, names)
        yield client


@pytest.fixture
def collecting(relay: Relay, broker: Client, tmp_path: Path) -> Iterator[Collecting]:
    """It has read everything once."""
    assert broker
    one = Collecting(tmp_path / "collect", f"a=127.0.0.1:{relay.port}")
    one.until("a", "start")
    yield one
    one.kill()


def topics_of(collecting: Collecting) -> dict[str, set[str]]:
    return {topic: set(brokers) for topic, brokers in collecting.routes("a").topics.items() if brokers}


def test_the_journal_has_what_was_registered(collecting: Collecting, names: Names) -> None:
    assert collecting.stop() == 0
    routes = collecting.routes("a")
    assert {name: next(iter(group.brokers.values())).addr for name, group in routes.groups.items()} == {
        names.broker: names.addr()
    }
    ours = {topic: brokers for topic, brokers in topics_of(collecting).items() if brokers == {names.broker}}
    assert {names.topic("T"), names.topic("U")} <= set(ours)
    assert collecting.records("a", *OF_A_CHANGE[:4]) == []


def test_what_changes_is_recorded_with_two_moments_and_no_cause(
    collecting: Collecting, watched: NameServer, broker: Client, names: Names
) -> None:
    other = Names()
    with watched.connect() as second:
        registered(second, other, ["N", "M"])
        came = collecting.until("a", "reg", broker=other.broker)
        put = collecting.until("a", "tput", broker=other.broker)
        broker.request(codes.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": "K", "value": "v"})
        broker.request(codes.UNREGISTER_BROKER, unregister_ext(other))
        gone = collecting.until("a", "down", broker=other.broker)
    assert collecting.stop() == 0
    assert {topic["t"] for topic in put["topics"]} <= {other.topic("N"), other.topic("M")}
    assert (came["addr"], gone["addr"], gone["cause"], gone.get("gap")) == (
        other.addr(), other.addr(), "observed", None)  # fmt: skip
    for record in (came, put, gone):
        assert 0 < record["ts"] - record["since"] < 60_000_000
    assert names.broker in collecting.routes("a").groups
    assert other.broker not in collecting.routes("a").groups
    ends = collecting.records("a", "stop")
    assert [end["since"] <= end["ts"] for end in ends] == [True]


def test_only_requests_that_keep_no_broker_alive_are_sent(
    collecting: Collecting, relay: Relay, broker: Client, names: Names
) -> None:
    register(broker, names, ["T", "V"], version={"counter": 2, "stateVersion": 0, "timestamp": 1_700_000_000_001})
    collecting.until("a", "tput")
    broker.request(codes.UNREGISTER_BROKER, unregister_ext(names))
    collecting.until("a", "down")
    collecting.stop()
    assert codes_of(relay.sent) == ALLOWED


def test_a_name_server_that_is_cut_off_silently_is_lost_and_found_again(
    collecting: Collecting, relay: Relay, watched: NameServer, names: Names
) -> None:
    relay.cut()
    lost = collecting.until("a", "stop")
    other = Names()
    with watched.connect() as second:
        registered(second, other, ["N", "M"])
        relay.heal()
        start = collecting.until("a", "start", 2)
        came = collecting.until("a", "reg", broker=other.broker)
        assert collecting.stop() == 0
    assert (start["observed"], start["restored"]) == (True, True)
    assert lost["since"] <= came["since"] < start["ts"] <= came["ts"]
    assert set(collecting.routes("a").groups) == {names.broker, other.broker}


def test_a_collector_that_was_killed_goes_on_with_its_own_journal(
    collecting: Collecting, watched: NameServer, names: Names
) -> None:
    collecting.until("a", "snap", end=True)
    collecting.process.wait_for("round|known to")
    collecting.kill()
    other = Names()
    with watched.connect() as second:
        registered(second, other, ["N", "M"])
        collecting.start()
        came = collecting.until("a", "reg", broker=other.broker)
        assert collecting.stop() == 0
    starts = collecting.records("a", "start")
    assert [start.get("restored") for start in starts] == [None, True]
    assert came["since"] < starts[1]["ts"]
    assert set(collecting.routes("a").groups) == {names.broker, other.broker}


def test_two_name_servers_have_two_journals(watched: NameServer, broker: Client, names: Names, tmp_path: Path) -> None:
    assert broker
    empty = RocketnsServer(tmp_path / "empty")
    collecting = Collecting(tmp_path / "both", f"a={addr(watched)};b={addr(empty)}")
    try:
        collecting.until("a", "start")
        collecting.until("b", "start")
        assert collecting.stop() == 0
        assert (set(collecting.routes("a").groups), set(collecting.routes("b").groups)) == ({names.broker}, set())
    finally:
        collecting.kill()
        empty.kill()


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_server_that_lists_no_topics_is_watched_without_them(kind: type[NameServer], tmp_path: Path) -> None:
    server = kind(tmp_path / "server", {"enableAllTopicList": "false"})
    collecting = None
    try:
        with server.connect() as client:
            registered(client, Names())
            collecting = Collecting(tmp_path / "collect", f"a={addr(server)}")
            end = collecting.until("a", "snap", end=True)
            other = Names()
            registered(client, other, ["N", "M"])
            collecting.until("a", "reg", broker=other.broker)
            assert collecting.stop() == 0
        assert (end.get("no_topics"), end.get("looked")) == (True, None)
        assert collecting.records("a", "tput", "tdel") == []
    finally:
        if collecting is not None:
            collecting.kill()
        server.kill()
