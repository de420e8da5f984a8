"""Why brokers went, by what all name servers saw of it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, CLOCK_DAYS, EVENTS
from rocketns.pipeline.jobs.departures import departures
from tests.pipeline.draws import seeds
from tests.pipeline.duck import departures as duck
from tests.pipeline.duck.query import query
from tests.pipeline.intervals import Row, frame, frames_of, rows
from tests.pipeline.journals import SECOND, observed, random_journals

SEEN = Observation(0, 10_000 * SECOND)


def life(ns: str, t1: float, t2: float, end_cause: str, broker: str = "b", bid: int = 0) -> Row:
    named = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{bid}", "timeout_ms": 120_000}
    return {**named, "t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": end_cause}


def beats(ns: str, *seconds: int, broker: str = "b", bid: int = 0) -> list[Row]:
    named = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{bid}", "ev": "hb"}
    return [{**named, "ts": second * SECOND} for second in seconds]


# broker → (its intervals, its heartbeats, the departures that they mean)
Case = tuple[list[Row], list[Row], list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "unregistered at all": (
        [life("n1", 0, 100, "unregister"), life("n2", 0, 101, "unregister")],
        [],
        [("graceful", 100, 101, ["n1", "n2"])],
    ),
    "unregistered at one and timed out at the other": (
        [life("n1", 0, 100, "unregister"), life("n2", 0, 220, "expired")],
        [],
        [("graceful", 100, 220, ["n1", "n2"])],
    ),
    "closed at all": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 110, "channel_exception")],
        [],
        [("crash", 100, 110, ["n1", "n2"])],
    ),
    "closed at all that still listed it": (
        [life("n1", 0, 50, "expired"), life("n2", 0, 300, "channel_close")],
        beats("n2", 60, 90),
        [("partition", 50, 50, ["n1"]), ("crash", 300, 300, ["n2"])],
    ),
    "closed at one while the other heard it, a heartbeat later": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 10_000, "open")],
        beats("n2", 99, 159),
        [("partition", 100, 100, ["n1"])],
    ),
    "closed at one, and the other heard it only when it came back": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 10_000, "open")],
        beats("n2", 99, 226),
        [("unclear", 100, 100, ["n1"])],
    ),
    "closed at both, but 11 s apart": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 111, "channel_close")],
        beats("n2", 105),
        [("partition", 100, 100, ["n1"]), ("crash", 111, 111, ["n2"])],
    ),
    "timed out at all": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 325, "expired")],
        [],
        [("silent", 200, 325, ["n1", "n2"])],
    ),
    "timed out at both, but later than timeout and scan": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 325.001, "expired")],
        beats("n2", 201),
        [("partition", 200, 200, ["n1"]), ("silent", 325.001, 325.001, ["n2"])],
    ),
    "timed out at one while the other heard it": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 10_000, "open")],
        beats("n2", 195, 225),
        [("partition", 200, 200, ["n1"])],
    ),
    "timed out at one, and nobody knows of the other": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 260, "stop")],
        beats("n2", 195),
        [("unclear", 200, 200, ["n1"])],
    ),
    "closed at one, timed out at the other": (
        [life("n1", 0, 200, "channel_close"), life("n2", 0, 300, "expired")],
        [],
        [("unclear", 200, 300, ["n1", "n2"])],
    ),
    "gone twice within seconds": (
        [life("n1", 0, 100, "channel_close"), life("n1", 103, 106, "channel_close")],
        [],
        [("crash", 100, 100, ["n1"]), ("crash", 106, 106, ["n1"])],
    ),
    "ended by its name server": ([life("n1", 0, 100, "stop"), life("n2", 0, 100, "conflict")], [], []),
}  # fmt: skip


def test_each_kind_of_departure(spark: SparkSession) -> None:
    intervals = [row | {"broker": name} for name, (lives, _, _) in CASES.items() for row in lives]
    events = [row | {"broker": name} for name, (_, beats, _) in CASES.items() for row in beats]
    found = departures(frame(spark, BROKER_INTERVALS, intervals), frame(spark, EVENTS, events), SEEN).collect()
    of_broker: dict[str, list[tuple[Any, ...]]] = {name: [] for name in CASES}
    for row in sorted(found, key=lambda row: row.t1):
        of_broker[row.broker].append((row.kind, row.t1 / SECOND, row.t2 / SECOND, row.ns))
    assert of_broker == {name: expected for name, (_, _, expected) in CASES.items()}


def seen(ns: str, t2: float, broker: str, early: float = 5, asked: str | None = None) -> Row:
    """Gone between two looks of an observer."""
    return life(ns, 0, t2, "observed", broker) | {"t2_early": int(early * SECOND), "asked": asked}


# broker → its intervals, and the departures: kind, from, to, by how much earlier, name servers, what the broker said.
SEEN_CASES: dict[str, tuple[list[Row], list[tuple[Any, ...]]]] = {
    "from outside only": (
        [seen("n1", 100, "", asked="silent"), seen("n2", 103, "", asked="refused")],
        [("observed", 100, 103, 5, ["n1", "n2"], ["refused", "silent"])],
    ),
    "from one of two": (
        [seen("n1", 100, ""), life("n2", 0, 10_000, "open")], [("observed", 100, 100, 5, ["n1"], [])],
    ),
    "within timeout, scan and look": (
        [seen("n1", 100, ""), seen("n2", 230, "")], [("observed", 100, 230, 5, ["n1", "n2"], [])],
    ),
    "later than timeout, scan and look": (
        [seen("n1", 100, ""), seen("n2", 230.001, "")],
        [("observed", 100, 100, 5, ["n1"], []), ("observed", 230.001, 230.001, 5, ["n2"], [])],
    ),
    "from one, came back there, then from both": (
        [seen("n1", 100, ""), seen("n1", 140, "") | {"t1": 110 * SECOND}, seen("n2", 139, "")],
        [("observed", 100, 100, 5, ["n1"], []), ("observed", 139, 140, 5, ["n1", "n2"], [])],
    ),
    "another saw that it unregistered": (
        [seen("n1", 103, ""), life("n2", 0, 100, "unregister")], [("graceful", 100, 103, 0, ["n1", "n2"], [])],
    ),
    "another saw its heartbeats end": (
        [seen("n1", 101, ""), life("n2", 0, 100, "expired")], [("silent", 100, 101, 0, ["n1", "n2"], [])],
    ),
    "nobody watched any more": ([life("n1", 0, 100, "unwatched"), life("n2", 0, 900, "open")], []),
}  # fmt: skip


def test_what_only_observers_saw_has_no_cause(spark: SparkSession) -> None:
    intervals = [row | {"broker": name, "addr": name} for name, (lives, _) in SEEN_CASES.items() for row in lives]
    nothing = frame(spark, EVENTS, [])
    found = departures(frame(spark, BROKER_INTERVALS, intervals), nothing, SEEN).collect()
    of_broker: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SEEN_CASES}
    for row in sorted(found, key=lambda row: row.t1):
        early = row.t1_early // SECOND
        of_broker[row.broker].append((row.kind, row.t1 / SECOND, row.t2 / SECOND, early, row.ns, row.asked))
    assert of_broker == {name: expected for name, (_, expected) in SEEN_CASES.items()}


def test_name_servers_that_lost_it_when_they_stalled_are_named(spark: SparkSession) -> None:
    """A broker closed its connection to both; only one of them did not run. A third one kept it."""
    lives = [life("n1", 0, 100, "channel_close"), life("n2", 0, 101, "channel_close"), life("n3", 0, 900, "open")]
    stalls = [{"ns": ns, "ev": "stall", "ts": 100 * SECOND, "ms": 60_000} for ns in ("n1", "n3")]
    stalls.append({"ns": "n2", "ev": "stall", "ts": 70 * SECOND, "ms": 60_000})
    found = departures(frame(spark, BROKER_INTERVALS, lives), frame(spark, EVENTS, stalls), SEEN)
    assert rows(found, "ns", "stalled") == [(["n1", "n2"], ["n1"])]


def test_only_the_ids_that_left_are_asked_about(spark: SparkSession) -> None:
    lives = [life("n1", 0, 100, "expired", bid=1), life("n2", 0, 100, "expired", bid=1), life("n2", 0, 900, "open")]
    found = departures(frame(spark, BROKER_INTERVALS, lives), frame(spark, EVENTS, beats("n2", 130)), SEEN)
    assert rows(found, "kind", "bids") == [("silent", [1])]


def test_a_broker_may_say_any_timeout(spark: SparkSession) -> None:
    """Its product with 1000 would be no long. The heartbeat comes 200 s after the first down."""
    lives, events = [], []
    for broker, said in (("long", 2**63 - 1), ("short", -(2**63))):
        of_both = life("n1", 0, 100, "expired", broker), life("n2", 0, 900, "open", broker)
        lives += [row | {"timeout_ms": said} for row in of_both]
        events += beats("n2", 300, broker=broker)
    found = departures(frame(spark, BROKER_INTERVALS, lives), frame(spark, EVENTS, events), SEEN)
    assert rows(found, "broker", "kind") == [("long", "partition"), ("short", "unclear")]


@pytest.mark.parametrize("seed", seeds(0))
def test_spark_and_duckdb_agree(spark: SparkSession, seed: int) -> None:
    journals = random_journals(seed)
    seen = Observation(*observed(journals))
    made = frames_of(spark, journals, seen)
    found = rows(departures(made.broker_intervals, made.events, seen))
    sql = duck.SQL.format(t0=seen.t0, t1=seen.t1)
    exact = clocks_of(spark, "versions", 0, "n1", "n2", "n3", day="2026-01-01")
    assert found == query(sql, broker_intervals=made.broker_intervals, events=made.events, clock_offsets=exact)
    assert len({row[4] for row in found}) > 2
    unsure = clocks_of(spark, "heartbeats", 30 * SECOND, "n1", "n2", "n3", day="2026-01-01")
    together = rows(departures(made.broker_intervals, made.events, seen, clock_days=unsure))
    assert together == query(sql, broker_intervals=made.broker_intervals, events=made.events, clock_offsets=unsure)
    assert len(together) < len(found)


def clocks_of(
    spark: SparkSession, method: str, uncertainty: int | None, *servers: str, day: str = "1970-01-01"
) -> DataFrame:
    """CLOCK_DAYS of the day on which all times are."""
    known = {"day": day, "method": method, "uncertainty": uncertainty}
    return frame(spark, CLOCK_DAYS, [{**known, "ns": ns} for ns in servers])


@pytest.mark.parametrize(
    ("method", "uncertainty", "seconds", "expected"),
    [
        ("versions", 0, 90, [("partition", ["n1"]), ("crash", ["n2"])]),
        ("heartbeats", 30 * SECOND, 610, [("crash", ["n1", "n2"])]),
        ("heartbeats", 30 * SECOND, 611, [("partition", ["n1"]), ("crash", ["n2"])]),
    ],
)
def test_downs_that_are_apart_as_the_clocks_may_be_are_one_departure(
    spark: SparkSession, method: str, uncertainty: int | None, seconds: int, expected: list[tuple[str, list[str]]]
) -> None:
    """n2's clock is ahead by so many seconds. It hears the broker once after n1 has lost it, by these clocks."""
    lives = frame(spark, BROKER_INTERVALS, [
        life("n1", 0, 100, "channel_close"), life("n2", 0, 100 + seconds, "channel_close"),
    ])  # fmt: skip
    clocks = clocks_of(spark, method, uncertainty, "n2").unionByName(clocks_of(spark, "reference", 0, "n1"))
    seen = Observation(0, 10_000 * SECOND)
    found = departures(lives, frame(spark, EVENTS, beats("n2", 130)), seen, clock_days=clocks)
    assert [(row.kind, row.ns) for row in sorted(found.collect(), key=lambda row: row.t1)] == expected


def test_a_broker_that_came_back_between_left_twice_whatever_the_clocks_are(spark: SparkSession) -> None:
    lives = [life("n1", 0, 100, "channel_close"), life("n2", 110, 150, "channel_close")]
    clocks = clocks_of(spark, "none", None, "n1", "n2")
    found = departures(frame(spark, BROKER_INTERVALS, lives), frame(spark, EVENTS, []), SEEN, clock_days=clocks)
    assert rows(found, "ns") == [(["n1"],), (["n2"],)]
