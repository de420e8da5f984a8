"""Windows in which name servers disagree, and the views that each had in them.

Cases share a fleet of two name servers and differ by their topic, so that Spark runs once for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.defaults import MIN_WINDOW_US, SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import CLOCK_DAYS, KEY_WINDOWS, NS_UPTIME, TOPIC_INTERVALS, TOPIC_SEGMENTS
from rocketns.pipeline.jobs import divergence
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.doubts import topic_doubts
from rocketns.pipeline.jobs.segments import topic_segments
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.draws import seeds
from tests.pipeline.duck import divergence as duck
from tests.pipeline.duck.history import doubts as duck_doubts
from tests.pipeline.duck.history import state as duck_state
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.intervals import frame
from tests.pipeline.jobs.history.test_state import harmed
from tests.pipeline.journals import (
    SECOND,
    Broker,
    Journal,
    Journals,
    events_frame,
    observed,
    random_journals,
    topic,
)


class Found(NamedTuple):
    """By topic: windows (broker, t1, t2, cause, opened_by, gap, values), segments (t1, t2, views); times in s."""

    windows: dict[str, list[tuple[Any, ...]]]
    segments: dict[str, list[tuple[Any, ...]]]


def found_of(spark: SparkSession, journals: Journals, end_s: int) -> Found:
    events, observation = events_frame(spark, journals), Observation(0, end_s * SECOND)
    base = state.base(events, observation, keep=cut)
    topics = cut(state.topic_intervals(events, base, observation))
    members = cut(state.broker_intervals(events, base, observation))
    windows = cut(divergence.key_windows(topics, base.uptime, observation, broker_intervals=members, keep=cut))
    segments = topic_segments(topics, base.uptime, windows, observation, cut)
    assert windows.schema.simpleString() == KEY_WINDOWS.simpleString()
    assert segments.schema.simpleString() == TOPIC_SEGMENTS.simpleString()
    out = Found({}, {})
    for r in rows(windows):
        out.windows.setdefault(r[0], []).append((r[1], r[2] / SECOND, r[3] / SECOND, *r[4:8]))
    for r in rows(segments):
        out.segments.setdefault(r[0], []).append((r[1] / SECOND, r[2] / SECOND, r[3]))
    return out


def test_topics_of_a_name_server_that_lists_none_are_never_compared(spark: SparkSession) -> None:
    """n1 and n2 differ from 100 s on. n3 is watched and shows no topic, n4 is watched and has none."""
    key = ("T", "broker-a")
    held = [
        (*key, "n1", 4, 4, 6, 0, 400, "register", "open", 0, 0),
        (*key, "n2", 4, 4, 6, 0, 100, "register", "expired", 0, 0),
    ]
    names = ("topic", "broker", "ns", "r", "w", "p", "t1", "t2", "cause", "end_cause", "t1_early", "t2_early")
    told: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in held]
    times = [row | {"t1": row["t1"] * SECOND, "t2": row["t2"] * SECOND} for row in told]
    topics = frame(spark, TOPIC_INTERVALS, times)
    boots = [{"ns": ns, "boot": 0, "t1": 0, "t2": 400 * SECOND, "end_cause": "open", "observed": ns > "n2",
              "no_topics": ns == "n3"} for ns in ("n1", "n2", "n3", "n4")]  # fmt: skip
    without = [boot for boot in boots if boot["ns"] != "n4"]
    observation = Observation(0, 400 * SECOND)

    def compared(uptime: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        up = frame(spark, NS_UPTIME, uptime)
        windows = cut(divergence.key_windows(topics, up, observation, keep=cut))
        segments = rows(topic_segments(topics, up, windows, observation, cut))
        assert {ns for *_, views in segments for ns, _ in views} == {ns for r in rows(windows) for ns, *_ in r[7]}
        return [(r[2] // SECOND, r[3] // SECOND, [value[:2] for value in r[7]]) for r in rows(windows)]

    assert compared(without) == [(100, 400, [("n1", True), ("n2", False)])]
    assert compared(boots) == [(0, 400, [("n1", True), ("n2", True), ("n4", False)])]


A = Broker("broker-a", "10.0.0.1:10911")


def both(journals: dict[str, Journal], second: float, *topics: dict[str, Any]) -> None:
    for journal in journals.values():
        journal.put(int(second * SECOND), "broker-a", topics)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    fleet = {ns: Journal(0, ns) for ns in ("n1", "n2", "n3")}
    n1, n2, n3 = fleet.values()
    for journal in fleet.values():
        journal.register(1 * SECOND, A)
    both(fleet, 2, topic("jitter"), topic("perm"), topic("empty"), topic("again"), topic("barely"))
    n1.put(10 * SECOND, "broker-a", [topic("jitter", r=8), topic("barely", r=8)])
    n1.delete(10 * SECOND, "broker-a", ["empty"])
    n2.put(14_999_999, "broker-a", [topic("jitter", r=8)])
    n3.put(14_999_999, "broker-a", [topic("jitter", r=8)])
    both(fleet, 15, topic("barely", r=8))
    n2.put(20 * SECOND, "broker-a", [topic("perm", p=4)], cause="perm")
    n3.put(22 * SECOND, "broker-a", [topic("perm", p=2)], cause="perm")
    n2.delete(23 * SECOND, "broker-a", ["again"])
    n2.put(23 * SECOND, "broker-a", [topic("again")])
    n2.stop(30 * SECOND)
    n3.put(34 * SECOND, "broker-a", [topic("perm")], cause="perm")
    for ns in (n1, n3):
        ns.lookup(99 * SECOND, "perm", 1)
    return found_of(spark, {ns: journal.records for ns, journal in fleet.items()}, 100)


def test_a_difference_shorter_than_the_shortest_window_is_dropped(found: Found) -> None:
    assert "jitter" not in found.windows
    assert "jitter" not in found.segments


def test_a_difference_of_exactly_the_shortest_window_is_kept(found: Found) -> None:
    assert [(t1, t2) for _, t1, t2, *_ in found.windows["barely"]] == [(10, 15)]


def test_a_name_server_that_is_down_is_never_compared(found: Found) -> None:
    """n2 has another value, and stops at 30 s; the window goes on between the others."""
    values = [("n1", True, 4, 4, 6), ("n2", True, 4, 4, 4), ("n3", True, 4, 4, 6)]
    assert found.windows["perm"] == [("broker-a", 20, 34, "perm", "n2", None, values)]
    assert [(t1, t2, [ns for ns, _ in views]) for t1, t2, views in found.segments["perm"]] == [
        (20, 22, ["n1", "n2", "n3"]),
        (22, 30, ["n1", "n2", "n3"]),
        (30, 34, ["n1", "n3"]),
    ]


def test_a_window_that_nothing_closes_ends_with_the_observation_and_an_empty_view_stays(found: Found) -> None:
    assert [(t1, t2, cause) for _, t1, t2, cause, *_ in found.windows["empty"]] == [(10, 100, "admin")]
    view = [("broker-a", 4, 4, 6)]
    assert found.segments["empty"] == [
        (10, 30, [("n1", []), ("n2", view), ("n3", view)]),
        (30, 100, [("n1", []), ("n3", view)]),
    ]


def test_records_with_the_same_time_are_applied_together(found: Found) -> None:
    assert "again" not in found.windows


def test_no_intervals_give_no_windows(spark: SparkSession) -> None:
    nothing, observation = frame_of(spark, [], TOPIC_INTERVALS), Observation(0, 400 * SECOND)
    uptime = frame_of(spark, [("n1", 0, 0, 400 * SECOND, "open", False, False)], NS_UPTIME)
    windows = cut(divergence.key_windows(nothing, uptime, observation))
    assert rows(windows) == rows(topic_segments(nothing, uptime, windows, observation)) == []


@pytest.mark.parametrize("seed", seeds(5))
def test_windows_and_segments_are_those_of_the_independent_version(spark: SparkSession, seed: int) -> None:
    journals = random_journals(seed, seconds=9000)
    journals = harmed(journals, seed) if seed % 2 else journals
    observation = Observation(*observed(journals))
    events = cut(events_frame(spark, journals))
    base = state.base(events, observation, keep=cut)
    topics = cut(state.topic_intervals(events, base, observation))
    members = cut(state.broker_intervals(events, base, observation))
    doubts = cut(topic_doubts(events, base, topics, observation))
    known: dict[str, tuple[Any, ...]] = {
        "n1": (0, 0, 0, "reference", "n1", 0),
        "n2": (0, 9, 0, "heartbeats", "n1", 30 * SECOND),
    }
    watched = {ns for ns, records in journals.items() if any(record.get("observed") for record in records)}
    known |= dict.fromkeys(sorted(watched), (0, 9, 0, "observed", "n1", 5 * SECOND if seed % 3 else None))
    clocks = frame_of(spark, [("2026-01-01", ns, *clock) for ns, clock in known.items()], CLOCK_DAYS)
    windows = cut(
        divergence.key_windows(
            topics, base.uptime, observation, broker_intervals=members, keep=cut, topic_doubts=doubts,
            clock_days=clocks, system_topics=system_topics(members),
        )
    )  # fmt: skip
    db = duck_events(journals)
    duck_state.prepare(db, *observation, SILENT_AFTER_US)
    duck_state.broker_intervals(db)
    duck_state.topic_intervals(db)
    duck_doubts.topic_doubts(db)
    assert rows(doubts) == duck_rows(db, "from topic_doubts")
    db.register("clock_offsets", clocks.toArrow())
    duck.key_windows(db, MIN_WINDOW_US)
    found = rows(windows)
    assert found == duck_rows(db, "from key_windows")
    assert len(found) > 20
    segments = rows(topic_segments(topics, base.uptime, windows, observation, cut))
    assert segments == duck_rows(db, duck.SEGMENTS)
