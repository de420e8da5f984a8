"""Topics without a route: which are noted, who pushes out whom, and their lines in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest

from rocketns.processor.context import Now
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.routeinfo.tables import RouteTables
from rocketns.server import missing
from rocketns.server.missing import (
    AGAIN_AFTER_MS,
    LINE_EVERY_MS,
    LINES_MAX,
    NEW_TOPICS_MAX,
    TOPICS_MAX,
    WAITING_MAX,
    WAITING_OF_HOST_MAX,
    AskedTopic,
    AskedTopics,
    Lines,
    MissingWatch,
    TopicAsker,
)
from tests.support.inprocess import FakeClock


class Seconds:
    """A table, second by second."""

    def __init__(self) -> None:
        self.table = AskedTopics()
        self.routes: set[str] = set()
        self._ms = 1_000

    @property
    def now(self) -> Now:
        return Now(self._ms, 1_700_000_000_000 + self._ms)

    def note(self, topic: str, host: str = "10.0.0.1", port: int = 1, lookups: int = 1) -> None:
        self.table.note(topic, lookups, TopicAsker(host, f"{host}:{port}"), host, self.now)

    def go_on(self, ms: int = 1_000) -> None:
        self.table.admit_new(self.now)
        self.table.sweep(self.routes.__contains__, self.now)
        self._ms += ms

    @property
    def found(self) -> dict[str, AskedTopic]:
        return {one.topic: one for one in self.table.all_missing()}


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def test_a_topic_that_lost_its_route_again_is_missing_since_then(seconds: Seconds) -> None:
    seconds.note("a", lookups=5)
    seconds.go_on()
    said_ms = seconds.now.ms
    seconds.found["a"].said_ms = seconds.now.ms
    seconds.routes.add("a")
    seconds.go_on()
    seconds.routes.clear()
    seconds.note("a", "10.0.0.2")
    one = seconds.found["a"]
    assert (one.lookups, one.since_epoch_ms, one.latest_peers()) == (1, seconds.now.epoch_ms, ("10.0.0.2:1",))
    assert one.said_ms == said_ms


def test_a_flood_of_one_host_pushes_out_its_own_topics(seconds: Seconds) -> None:
    seconds.note("real")
    for number in range(TOPICS_MAX + 10 * NEW_TOPICS_MAX):
        seconds.note(f"flood-{number}", "10.9.9.9")
        if number % NEW_TOPICS_MAX == 0:
            seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    assert "real" in seconds.found
    seconds.note("real-2", "10.0.0.2")
    seconds.go_on()
    assert "real-2" in seconds.found
    assert len(seconds.found) == TOPICS_MAX


def test_a_topic_that_is_asked_for_again_stays_however_many_hosts_flood(seconds: Seconds) -> None:
    """Each host has one topic, so all have equally many. A client asks again after 30 s."""
    for second in range(3 * TOPICS_MAX // NEW_TOPICS_MAX):
        if second % 30 == 0:
            seconds.note("real")
        for number in range(NEW_TOPICS_MAX):
            seconds.note(f"flood-{second}-{number}", f"10.9.{second}.{number}")
        seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    assert "real" in seconds.found


def test_of_hosts_with_equally_many_the_newcomer_loses_its_own(seconds: Seconds) -> None:
    seconds.note("first", "10.9.9.0")
    seconds.go_on()
    for number in range(1, TOPICS_MAX):
        seconds.note(f"flood-{number}", f"10.9.9.{number % 2}")
        if number % NEW_TOPICS_MAX == 0:
            seconds.go_on()
    seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    seconds.note("more", "10.9.9.1")
    seconds.go_on()
    assert {"first", "more"} <= seconds.found.keys()


# For so many seconds: the last parts of its hosts' addresses, and how many topics each of them asks for.
FLOODS: dict[str, tuple[int, Callable[[int], list[str]], int]] = {
    "more hosts than there is room for": (5, lambda _second: [f"9.{one}" for one in range(4 * NEW_TOPICS_MAX)], 1),
    "other hosts each second": (100, lambda second: [f"{second}.{one}" for one in range(2 * NEW_TOPICS_MAX)], 1),
    "a few hosts with many topics": (
        2, lambda _second: [f"9.{one}" for one in range(2 * WAITING_MAX // WAITING_OF_HOST_MAX)], WAITING_OF_HOST_MAX),
}  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_leaves_room_for_a_host_that_comes_last(flood: str, seconds: Seconds) -> None:
    """Reactors bring the hosts in the order of their hashes, which may be the same each second."""
    lasts_s, hosts, topics = FLOODS[flood]
    for second in range(lasts_s):
        for host in hosts(second):
            for number in range(topics):
                seconds.note(f"flood-{second}-{host}-{number}", f"10.9.{host}")
        seconds.note("real")
        seconds.go_on()
    assert "real" in seconds.found


QUEUES = QueueData(4, 4, 6, 0)


class Watched:
    """A watch, tick by tick."""

    def __init__(self) -> None:
        self.tables = RouteTables()
        self.clock = FakeClock()
        self.clock.spent_ns = lambda: 0
        self.watch = MissingWatch(self.tables, self.clock)

    def broker(self, name: str, *topics: str) -> None:
        self.tables.broker_addr_table[name] = BrokerData("C", name, {0: "10.0.0.1:10911"})
        for topic in topics:
            self.tables.topic_queue_table.setdefault(topic, {})[name] = QUEUES

    def look_up(self, topic: str, host: str = "10.0.0.7") -> None:
        peer = Mock(address=f"{host}:5", host=host)
        self.watch.note(topic, peer, self.clock.now())

    def go_on(self, ms: int = 1_000) -> None:
        self.watch.tick()
        self.clock.advance(ms)


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Iterator[Watched]:
    with caplog.at_level(logging.INFO, "rocketns.missing"):
        yield Watched()


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "rocketns.missing"]


@pytest.mark.parametrize("topic", ["%RETRY%group", "rmq_sys_SYNC_BROKER_MEMBER_broker-a"])
def test_what_clients_and_brokers_ask_for_by_themselves_has_no_line(
    watched: Watched, caplog: pytest.LogCaptureFixture, topic: str
) -> None:
    watched.broker("broker-a")
    watched.look_up(topic)
    watched.go_on()
    assert said(caplog) == []


def test_a_topic_has_one_line_an_hour(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.broker("broker-a")
    for _ in range(AGAIN_AFTER_MS // 30_000):
        watched.look_up("Order")
        watched.go_on(30_000)
    assert len(said(caplog)) == 1
    watched.look_up("Order")
    watched.go_on()
    assert len(said(caplog)) == 2


def test_lines_a_minute_are_bounded_and_the_log_says_so(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.broker("broker-a")
    for number in range(30):
        watched.look_up(f"Topic{number:02}")
    watched.go_on()
    assert len(said(caplog)) == LINES_MAX + 1
    assert said(caplog)[-1].startswith("20 more topics without a route were asked for")
    for _ in range(60):
        watched.go_on()
    assert len(said(caplog)) == LINES_MAX + 1 + 60_000 // LINE_EVERY_MS


def test_a_flood_of_one_host_does_not_keep_others_from_their_line(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.broker("broker-a")
    for second in range(20):
        for number in range(64):
            watched.look_up(f"flood-{second}-{number}", "10.9.9.9")
        watched.go_on()
    caplog.clear()
    watched.look_up("Order")
    for _ in range(LINE_EVERY_MS // 1_000 + 1):
        watched.go_on()
    assert [message.split()[5] for message in said(caplog)] == ["Order,"]


def test_the_names_are_looked_through_in_steps(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each tick for so long; here its time is over at once."""
    monkeypatch.setattr(missing, "STEP_NS", 0)
    watched.broker("broker-a", *(f"Topic-{number}" for number in range(1_000)))
    watched.look_up("Topics-17")
    for _ in range(30):
        watched.go_on()
    [one] = watched.watch.asked.all_missing()
    assert one.nearest is None
    while one.nearest is None:
        watched.go_on()
    assert "Topic-17" in one.nearest


def test_a_jump_of_time_gains_no_more_lines_than_there_are_at_once(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """The machine slept, or control stood still."""
    watched.broker("broker-a")
    watched.look_up("Order")
    watched.go_on(AGAIN_AFTER_MS // 2)
    caplog.clear()
    for number in range(30):
        watched.look_up(f"Topic{number:02}")
    watched.go_on()
    assert len([message for message in said(caplog) if message.startswith("no route for")]) == LINES_MAX


def test_lines_of_a_host_count_for_an_hour(watched: Watched) -> None:
    watched.broker("broker-a")
    lines = Lines(watched.tables)
    first, other = AskedTopic("first", "10.0.0.1", 1, 1, 1), AskedTopic("other", "10.0.0.2", 2, 2, 2)
    assert lines.next_of((first,), watched.clock.now()) is first
    lines.say(AskedTopic("said", "10.0.0.1", 0, 0, 0), watched.clock.now())
    assert lines.next_of((first, other), watched.clock.now()) is other
    watched.clock.advance(AGAIN_AFTER_MS)
    assert lines.next_of((first, other), watched.clock.now()) is first
