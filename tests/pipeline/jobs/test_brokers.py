"""Times up, failures, flaps and heartbeat gaps."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.earlier import GAPS
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, NS_UPTIME
from rocketns.pipeline.jobs.brokers import broker_stats, heartbeat_gaps
from rocketns.pipeline.jobs.earlier.tallies import gaps
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

UP = [{"ns": "n", "boot": 1, "t1": 0, "t2": 1000 * SECOND, "end_cause": "open"}]
SEEN = Observation(0, 1000 * SECOND)


def interval(t1: int, t2: int, end_cause: str) -> Row:
    named = {"ns": "n", "cluster": "c", "broker": "b", "bid": 0, "addr": "b:1"}
    return {**named, "t1": t1 * SECOND, "t2": t2 * SECOND, "end_cause": end_cause}


# name server → its uptime, the intervals of its broker, and figures of it
CASES: dict[str, tuple[list[Row], list[Row], Row]] = {
    "failures and farewells are counted apart, and a name server's end is neither": (
        UP,
        [interval(0, 100, "expired"), interval(800, 900, "unregister"), interval(950, 960, "stop")],
        {"failures": 1, "graceful": 1, "up_s": 210.0, "mtbf_s": 210.0},
    ),
    "a flap is a failure with a registration within 600 s": (
        UP, [interval(0, 100, "channel_close"), interval(700, 1000, "open")], {"failures": 1, "flaps": 1},
    ),
    "a registration later than that": (
        UP, [interval(0, 100, "channel_close"), interval(701, 1000, "open")], {"failures": 1, "flaps": 0},
    ),
    "a farewell with a registration after it is no flap": (
        UP, [interval(0, 100, "unregister"), interval(110, 1000, "open")], {"flaps": 0},
    ),
    "availability leaves out the time that the name server was down": (
        [{**UP[0], "t2": 400 * SECOND, "end_cause": "stop"}, {**UP[0], "boot": 2, "t1": 600 * SECOND}],
        [interval(0, 400, "stop"), interval(700, 1000, "open")],
        {"up_s": 700.0, "availability": 700 / 800},
    ),
    "an interval whose name server was killed counts up to its last record": (
        [{**UP[0], "t2": 400 * SECOND, "end_cause": "lost"}], [interval(0, 500, "start")], {"up_s": 400.0},
    ),
}  # fmt: skip


def stats(spark: SparkSession, intervals: list[Row], up: list[Row], seen: Observation) -> dict[str, Row]:
    made = broker_stats(
        frame(spark, BROKER_INTERVALS, intervals), frame(spark, GAPS, []), frame(spark, NS_UPTIME, up), seen
    )
    return {row.ns: row.asDict() for row in made.collect()}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Row]:
    up = [{**row, "ns": ns} for ns, (ups, _, _) in CASES.items() for row in ups]
    intervals = [{**row, "ns": ns} for ns, (_, lives, _) in CASES.items() for row in lives]
    return stats(spark, intervals, up, SEEN)


@pytest.mark.parametrize("case", CASES)
def test_figures_of_a_broker(found: dict[str, Row], case: str) -> None:
    assert found[case].items() >= CASES[case][2].items()


def test_only_the_observation_counts(spark: SparkSession) -> None:
    seen = Observation(150 * SECOND, 300 * SECOND)
    row = stats(spark, [interval(0, 100, "expired"), interval(120, 300, "expired")], UP, seen)["n"]
    assert (row["up_s"], row["availability"], row["failures"], row["flaps"]) == (150.0, 1.0, 0, 0)


def test_gaps_begin_anew_with_each_boot_and_registration(spark: SparkSession) -> None:
    named = {"ns": "n", "cluster": "c", "broker": "b", "bid": 0, "addr": "b:1"}
    records = [(1, 1, 0, "reg"), (1, 2, 30, "hb"), (1, 3, 200, "reg"), (1, 4, 231, "hb"), (2, 1, 300, "hb")]
    events = [{**named, "boot": b, "seq": s, "ts": t * SECOND, "ev": ev} for b, s, t, ev in records]
    table = heartbeat_gaps(gaps(frame(spark, EVENTS, events), SEEN))
    assert rows(table, "gap_p50", "gap_max", "gaps") == [(30_500.0, 31_000, 2)]
