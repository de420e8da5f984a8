"""The journal's cost for the control thread: CPU for one event, for counting a lookup, and for a step of a snapshot.

Time is the thread's own CPU time (`time.thread_time`), so the writer's thread and other processes do not count.
Each call records the events of one request. The route tables made these events from real registrations. The clock
moves between two calls. Records go to a writer with real files, flushed every 1,000 events.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from rocketns.config.journal import JournalConfig
from rocketns.journal.journal import HOUR_MS, Journal
from rocketns.journal.lookups import LookupCounters
from rocketns.routeinfo.events import Event
from tests.routeinfo.manager import Broker, Manager, table_of

BROKERS = 200
TOPICS = [f"BenchmarkTopic-{number}" for number in range(50)]
EVENTS = 1_000
WRITTEN_WITHIN_S = 60.0  # hundreds of files, each synced
BOOT_MS = 1_790_000_000_000
# What one event may cost, in lines: the time in which this machine makes a line of the journal and appends it.
EVENT_LINES_MAX = 15
LINE_PARTS = (b'{"boot":1790000000000,"seq":', b',"ts":1790000000000000,', b'"ev":"hb","cluster":"Default_Cluster"}')

pytestmark = pytest.mark.benchmark(timer=time.thread_time)


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def journal(manager: Manager, tmp_path: Path) -> Iterator[Journal]:
    config = JournalConfig(journal_path=str(tmp_path), journal_ns="n1", journal_buffer_bytes=1 << 30)
    one = Journal(config, "n1", manager.tables, {}, BOOT_MS, lambda _s, _step: None)
    one.start(lambda call: call(), BOOT_MS)
    yield one
    one.stop(BOOT_MS)
    assert one.writer.stop(WRITTEN_WITHIN_S)
    assert one.buffer.lost == 0


def brokers() -> list[Broker]:
    return [Broker(name=f"broker-{number}", addr=f"10.0.{number}.1:10911") for number in range(BROKERS)]


def batches(manager: Manager, act: Callable[[Broker], object]) -> list[list[Event]]:
    """The events of each broker's act, one batch for each request."""
    found = []
    for broker in brokers():
        manager.events.clear()
        act(broker)
        found.append(list(manager.events))
    return found


def registered(manager: Manager, journal: Journal) -> None:
    for events in batches(manager, lambda broker: manager.register(broker, table_of(*TOPICS))):
        journal.record(events, manager.now_ms, BOOT_MS)
    manager.now_ms += 30_000


def line_us() -> float:
    """CPU microseconds to make a line and append it: the median of rounds of `EVENTS` lines each."""
    return statistics.median(_lines_s() for _ in range(200)) / EVENTS * 1e6


def _lines_s() -> float:
    head, middle, end = LINE_PARTS
    lines, start = bytearray(), time.thread_time()
    for number in range(EVENTS):
        lines += b"%b%d%b%b\n" % (head, number, middle, end)
    return time.thread_time() - start


def measure(benchmark: BenchmarkFixture, journal: Journal, made: list[list[Event]]) -> float:
    """The cost of one event in lines, see `EVENT_LINES_MAX`: the median of rounds of `EVENTS` events each."""
    turns = [made[number % len(made)] for number in range(EVENTS)]
    epoch_ms = BOOT_MS

    def write() -> None:
        nonlocal epoch_ms
        for events in turns:
            epoch_ms += 1
            journal.record(events, 1_030_000, epoch_ms)

    before = journal.buffer.seq
    benchmark.pedantic(write, setup=lambda: journal.buffer.flush(epoch_ms), rounds=200, warmup_rounds=5)
    assert journal.buffer.seq - before >= (1 if benchmark.disabled else 205) * EVENTS
    cost = median_s(benchmark) / EVENTS * 1e6
    benchmark.extra_info["cpu_us_per_event"] = round(cost, 3)
    return cost / line_us()


def median_s(benchmark: BenchmarkFixture) -> float:
    """The median; 0 with --benchmark-disable, where only the results are checked."""
    return 0.0 if benchmark.disabled else benchmark.stats.stats.median


def test_a_registration_again(benchmark: BenchmarkFixture, manager: Manager, journal: Journal) -> None:
    registered(manager, journal)
    made = batches(manager, lambda broker: manager.register(broker, table_of(*TOPICS)))
    assert measure(benchmark, journal, made) <= EVENT_LINES_MAX


def test_a_heartbeat(benchmark: BenchmarkFixture, manager: Manager, journal: Journal) -> None:
    registered(manager, journal)
    made = batches(manager, lambda b: manager.note(manager.tables.refresh(b.cluster, b.addr, manager.now_ms)))
    assert measure(benchmark, journal, made) <= EVENT_LINES_MAX


def test_10000_topics_put(benchmark: BenchmarkFixture, manager: Manager, journal: Journal) -> None:
    """One registration with 10,000 new topics; the figure is for one topic."""
    manager.register(brokers()[0], table_of(*(f"BenchmarkTopic-{number}" for number in range(10_000))))
    put, before = [manager.events[0]], journal.buffer.seq
    benchmark.pedantic(
        lambda: journal.record(put, 0, BOOT_MS), setup=lambda: journal.buffer.flush(BOOT_MS), rounds=50, warmup_rounds=5
    )
    assert journal.buffer.seq > before
    cost = median_s(benchmark) / 10_000 * 1e6
    benchmark.extra_info["cpu_us_per_topic"] = round(cost, 3)
    assert cost / line_us() <= EVENT_LINES_MAX


def test_a_step_of_a_snapshot(benchmark: BenchmarkFixture, manager: Manager, journal: Journal) -> None:
    """50 brokers with 2,000 topics each. A step is the longest time that control works on a snapshot without pause."""
    table = table_of(*(f"BenchmarkTopic-{number}" for number in range(2_000)))
    for broker in brokers()[:50]:
        manager.register(broker, table)
    for event in manager.events:
        journal.record([event], manager.now_ms, BOOT_MS)
    hours = iter(range(1, 1_000_000))

    def next_step() -> None:
        journal.buffer.flush(BOOT_MS)
        if not journal._work:
            journal.tick(BOOT_MS + next(hours) * HOUR_MS)

    benchmark.pedantic(journal._step, setup=next_step, rounds=300, warmup_rounds=5)
    assert median_s(benchmark) <= 0.002


def test_count_a_lookup(benchmark: BenchmarkFixture) -> None:
    """The Python lane takes about 100 us for a lookup; counting it may take 1 us."""
    counters = LookupCounters(20_000, by_client=False)

    def count() -> None:
        for topic in TOPICS:
            counters.count(topic, "10.0.0.1:5000", "JAVA", 513, False)

    benchmark.pedantic(count, rounds=200, iterations=20, warmup_rounds=5)
    cost = median_s(benchmark) / len(TOPICS) * 1e6
    benchmark.extra_info["cpu_us_per_lookup"] = round(cost, 3)
    assert cost <= 1
