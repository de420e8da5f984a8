"""From a lookup that found no route to its line in the log, on a clock that the test moves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest

from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.missing import watching
from rocketns.server.missing.asked import Asked, Peer
from rocketns.server.missing.lines import AGAIN_AFTER_MS, LINE_EVERY_MS, LINES_MAX, Lines
from rocketns.server.missing.watching import LINE_PAUSE_S, PAUSE_S, MissingWatch
from tests.support.inprocess import FakeClock

QUEUES = QueueData(4, 4, 6, 0)


class Watched:
    """A watch whose steps are taken at each `go_on`."""

    def __init__(self) -> None:
        self.tables = RouteTables()
        self.clock = FakeClock()
        self._steps: list[Callable[[], None]] = []
        self.watch = MissingWatch(self.tables, self.clock, self._call_later)
        self.steps = 0
        self.pauses: list[float] = []

    def _call_later(self, delay_s: float, step: Callable[[], None]) -> None:
        self.pauses.append(delay_s)
        self._steps.append(step)

    def broker(self, name: str, *topics: str) -> None:
        self.tables.broker_addr_table[name] = BrokerData("C", name, {0: "10.0.0.1:10911"})
        for topic in topics:
            self.tables.topic_queue_table.setdefault(topic, {})[name] = QUEUES

    def look_up(self, topic: str, host: str = "10.0.0.7") -> None:
        peer = Mock(address=f"{host}:5", place=(host, host))
        self.watch.note(topic, peer, self.clock.now())

    def one_step(self) -> None:
        self.steps += 1
        self._steps.pop()()

    def go_on(self, ms: int = 1_000) -> None:
        self.watch.tick()
        while self._steps:
            self.one_step()
        self.clock.advance(ms)


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Iterator[Watched]:
    with caplog.at_level(logging.INFO, "rocketns.missing"):
        yield Watched()


def test_a_line_names_peer_reason_near_names_and_what_to_do(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.broker("broker-a", "OrderPaid")
    watched.look_up("OrderPayed")
    watched.go_on()
    assert caplog.messages == [
        "no route for the topic OrderPayed, which 10.0.0.7:5 asked for: no broker has it, and automatic creation is "
        "off at all of them (none has TBW102). To create it: mqadmin updateTopic -n NAME_SERVERS -c CLUSTER -t "
        "'OrderPayed'. The nearest names here: OrderPaid"
    ]


def test_brokers_that_create_topics_are_named(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(7):
        watched.broker(f"b{number}", "TBW102")
    watched.look_up("Order")
    watched.go_on()
    [line] = caplog.messages
    assert "The first message creates it at b0, b1, b2, b3, b4 and 2 more brokers, where automatic" in line


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("a b", "brokers take no topic of this name"),
        ("RMQ_SYS_TRACE_TOPIC", "It is a topic of RocketMQ itself"),
        ("left", "none of the brokers that have its queues is registered"),
    ],
)
def test_a_line_says_why_a_topic_has_no_route(
    watched: Watched, caplog: pytest.LogCaptureFixture, topic: str, said: str
) -> None:
    watched.broker("broker-a")
    watched.tables.topic_queue_table["left"] = {"broker-b": QUEUES}
    watched.look_up(topic)
    watched.go_on()
    [line] = caplog.messages
    assert said in line


@pytest.mark.parametrize("topic", ["TBW102", "%RETRY%group", "%DLQ%group", "rmq_sys_SYNC_BROKER_MEMBER_broker-a", ""])
def test_what_clients_and_brokers_ask_for_by_themselves_has_no_line(
    watched: Watched, caplog: pytest.LogCaptureFixture, topic: str
) -> None:
    watched.broker("broker-a")
    watched.look_up(topic)
    watched.go_on()
    assert caplog.messages == []


@pytest.mark.parametrize("topic", ["TBW102", "SELF_TEST_TOPIC"])
def test_what_tools_probe_with_is_never_missing(watched: Watched, caplog: pytest.LogCaptureFixture, topic: str) -> None:
    """Also without any broker, where one line says so of the next topic."""
    watched.watch.take_from(lambda: [(topic, 3, Peer("10.0.0.8", "10.0.0.8"), 17)])
    watched.look_up(topic)
    watched.go_on()
    assert (list(watched.watch.asked.all_missing()), caplog.messages) == ([], [])


@pytest.mark.parametrize("topic", ["RMQ_SYS_TRACE_TOPIC", "OFFSET_MOVED_EVENT"])
def test_a_topic_of_rocketmq_that_clients_need_is_missing(watched: Watched, topic: str) -> None:
    watched.broker("broker-a")
    watched.look_up(topic)
    watched.go_on()
    assert [one.topic for one in watched.watch.asked.all_missing()] == [topic]


def test_a_topic_has_one_line_an_hour(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.broker("broker-a")
    for _ in range(AGAIN_AFTER_MS // 30_000):
        watched.look_up("Order")
        watched.go_on(30_000)
    assert len(caplog.messages) == 1
    watched.look_up("Order")
    watched.go_on()
    assert len(caplog.messages) == 2


def test_without_any_broker_one_line_says_so_and_each_topic_has_its_own_later(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in ("Order", "Refund", "Order"):
        watched.look_up(topic)
        watched.go_on()
    [line] = caplog.messages
    assert "no broker is registered here" in line
    watched.broker("broker-a")
    watched.go_on()
    assert [message.split()[5] for message in caplog.messages[1:]] == ["Order,", "Refund,"]


def test_a_topic_that_has_a_route_by_then_has_no_line(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.look_up("Order")
    watched.broker("broker-a", "Order")
    watched.go_on()
    assert caplog.messages == []


def test_lines_a_minute_are_bounded_and_the_log_says_so(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.broker("broker-a")
    for number in range(30):
        watched.look_up(f"Topic{number:02}")
    watched.go_on()
    assert len(caplog.messages) == LINES_MAX + 1
    assert caplog.messages[-1].startswith("20 more topics without a route were asked for")
    for _ in range(60):
        watched.go_on()
    assert len(caplog.messages) == LINES_MAX + 1 + 60_000 // LINE_EVERY_MS


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
    assert [message.split()[5] for message in caplog.messages] == ["Order,"]


def test_what_reactors_counted_is_noted(watched: Watched) -> None:
    watched.watch.take_from(lambda: [("Order", 3, Peer("10.0.0.8", "10.0.0.8"), 17), ("TBW102", 3, None, 17)])
    watched.go_on()
    [one] = watched.watch.asked.all_missing()
    assert (one.topic, one.lookups, one.latest_peers()) == ("Order", 3, ("10.0.0.8",))


def test_the_names_are_looked_through_in_steps(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step may take so long; here it is over at once."""
    monkeypatch.setattr(watching, "STEP_NS", 0)
    watched.broker("broker-a", *(f"Topic-{number}" for number in range(1_000)))
    watched.look_up("Topics-17")
    watched.go_on()
    assert watched.steps > 30
    [one] = watched.watch.asked.all_missing()
    assert one.nearest is not None
    assert "Topic-17" in one.nearest


def test_names_that_come_and_go_meanwhile_break_nothing(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STEP_NS", 0)
    watched.broker("broker-a", *(f"Topic-{number}" for number in range(1_000)))
    watched.look_up("Topics-17")
    watched.watch.tick()
    watched.tables.topic_queue_table.clear()
    watched.broker("broker-b", "Topics-17")
    watched.go_on()
    watched.go_on()
    assert list(watched.watch.asked.all_missing()) == []


def test_a_line_that_is_due_does_not_wait_for_the_search_of_another_topic(
    watched: Watched, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "STEP_NS", 0)
    watched.broker("broker-a", *(f"Topic-{number}" for number in range(1_000)))
    watched.look_up("%RETRY%group")
    watched.watch.tick()
    watched.look_up("Order")
    watched.watch.tick()
    watched.one_step()
    assert caplog.messages == []
    for _ in range(40):
        watched.one_step()
    [line] = caplog.messages
    assert "topic Order," in line


@pytest.mark.parametrize(("trusts_announced", "owners"), [(True, {"10.0.0.1", "10.0.0.2"}), (False, {"10.9.9.9"})])
def test_only_trusted_proxies_say_whose_a_topic_is(trusts_announced: bool, owners: set[str]) -> None:
    """Behind them a flood of one client leaves the others theirs. Who asked is always the announced address."""
    watch = MissingWatch(RouteTables(), FakeClock(), lambda *_: None, trusts_announced=trusts_announced)
    for number in (1, 2):
        announced = f"10.0.0.{number}"
        peer = Mock(address=f"{announced}:5", place=("10.9.9.9", announced))
        watch.note(f"topic-{number}", peer, FakeClock().now())
    watch.tick()
    found = list(watch.asked.all_missing())
    assert {one.owner for one in found} == owners
    assert {one.latest_peers() for one in found} == {("10.0.0.1:5",), ("10.0.0.2:5",)}


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
    assert len([message for message in caplog.messages if message.startswith("no route for")]) == LINES_MAX


def test_lines_of_a_host_count_for_an_hour(watched: Watched) -> None:
    watched.broker("broker-a")
    lines = Lines(watched.tables)
    first, other = Asked("first", "10.0.0.1", 1, 1, 1), Asked("other", "10.0.0.2", 2, 2, 2)
    assert lines.next_of((first,), watched.clock.now()) is first
    lines.say(Asked("said", "10.0.0.1", 0, 0, 0), watched.clock.now())
    assert lines.next_of((first, other), watched.clock.now()) is other
    watched.clock.advance(AGAIN_AFTER_MS)
    assert lines.next_of((first, other), watched.clock.now()) is first


@pytest.mark.parametrize(("topic", "pause_s"), [("%RETRY%group", PAUSE_S), ("Order", LINE_PAUSE_S)])
def test_only_a_search_whose_line_is_due_has_short_pauses(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, topic: str, pause_s: float
) -> None:
    monkeypatch.setattr(watching, "STEP_NS", 0)
    watched.broker("broker-a", *(f"Topic-{number}" for number in range(1_000)))
    watched.look_up(topic)
    watched.watch.tick()
    assert watched.pauses == [pause_s]
