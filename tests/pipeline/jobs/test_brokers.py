"""Times up, failures, flaps and heartbeat gaps."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.earlier import GAPS
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, NS_UPTIME
from rocketns.pipeline.jobs.brokers import broker_stats, heartbeat_gaps
from rocketns.pipeline.jobs.earlier.tallies import gaps
from tests.pipeline.duck import brokers as duck
from tests.pipeline.duck.query import query, same
from tests.pipeline.intervals import Row, frame, frames_of, rows
from tests.pipeline.journals import SECOND, observed, random_journals, worked_example

UP = [{"ns": "n", "boot": 1, "t1": 0, "t2": 1000 * SECOND, "end_cause": "open"}]
SEEN = Observation(0, 1000 * SECOND)


def interval(t1: int, t2: int, end_cause: str) -> Row:
    named = {"ns": "n", "cluster": "c", "broker": "b", "bid": 0, "addr": "b:1"}
    return {**named, "t1": t1 * SECOND, "t2": t2 * SECOND, "end_cause": end_cause}


def stats(spark: SparkSession, intervals: list[Row], up: list[Row] = UP, seen: Observation = SEEN) -> Row:
    made = broker_stats(
        frame(spark, BROKER_INTERVALS, intervals), frame(spark, GAPS, []), frame(spark, NS_UPTIME, up), seen
    ).collect()
    assert len(made) == 1
    return made[0].asDict()


def test_the_worked_example_of_the_definitions(spark: SparkSession) -> None:
    journals, seen = worked_example(), Observation(0, 400 * SECOND)
    made = frames_of(spark, journals, seen)
    table = broker_stats(made.broker_intervals, gaps(made.events, seen), made.ns_uptime, seen)
    found = {(row.ns, row.broker): row for row in table.collect()}
    b = found["n2", "broker-b"]
    assert (b.up_s, b.availability, b.failures, b.mtbf_s) == (281.0, 0.7025, 1, 281.0)
    assert (b.gap_p50, b.gap_p95, b.gap_p99, b.gap_max) == (30_000.0,) * 4
    assert (b.graceful, b.flaps, b.gaps) == (0, 1, 2 + 3)
    a = found["n1", "broker-a"]
    assert (a.up_s, a.failures, a.mtbf_s, a.gaps) == (399.0, 0, None, 13)


def test_failures_and_farewells_are_counted_apart_and_a_name_servers_end_is_neither(spark: SparkSession) -> None:
    row = stats(spark, [interval(0, 100, "expired"), interval(800, 900, "unregister"), interval(950, 960, "stop")])
    assert (row["failures"], row["graceful"], row["up_s"], row["mtbf_s"]) == (1, 1, 210.0, 210.0)


@pytest.mark.parametrize(("back_s", "flaps"), [(700, 1), (701, 0)])
def test_a_flap_is_a_failure_with_a_registration_within_600_s(spark: SparkSession, back_s: int, flaps: int) -> None:
    row = stats(spark, [interval(0, 100, "channel_close"), interval(back_s, 1000, "open")])
    assert (row["failures"], row["flaps"]) == (1, flaps)


def test_a_farewell_with_a_registration_after_it_is_no_flap(spark: SparkSession) -> None:
    assert stats(spark, [interval(0, 100, "unregister"), interval(110, 1000, "open")])["flaps"] == 0


def test_availability_leaves_out_the_time_that_the_name_server_was_down(spark: SparkSession) -> None:
    up = [{**UP[0], "t2": 400 * SECOND, "end_cause": "stop"}, {**UP[0], "boot": 2, "t1": 600 * SECOND}]
    row = stats(spark, [interval(0, 400, "stop"), interval(700, 1000, "open")], up)
    assert (row["up_s"], row["availability"]) == (700.0, 700 / 800)


def test_an_interval_whose_name_server_was_killed_counts_up_to_its_last_record(spark: SparkSession) -> None:
    up = [{**UP[0], "t2": 400 * SECOND, "end_cause": "lost"}]
    assert stats(spark, [interval(0, 500, "start")], up)["up_s"] == 400.0


def test_only_the_observation_counts(spark: SparkSession) -> None:
    seen = Observation(150 * SECOND, 300 * SECOND)
    row = stats(spark, [interval(0, 100, "expired"), interval(120, 300, "expired")], seen=seen)
    assert (row["up_s"], row["availability"], row["failures"], row["flaps"]) == (150.0, 1.0, 0, 0)


def test_gaps_begin_anew_with_each_boot_and_registration(spark: SparkSession) -> None:
    named = {"ns": "n", "cluster": "c", "broker": "b", "bid": 0, "addr": "b:1"}
    records = [(1, 1, 0, "reg"), (1, 2, 30, "hb"), (1, 3, 200, "reg"), (1, 4, 231, "hb"), (2, 1, 300, "hb")]
    events = [{**named, "boot": b, "seq": s, "ts": t * SECOND, "ev": ev} for b, s, t, ev in records]
    table = heartbeat_gaps(gaps(frame(spark, EVENTS, events), SEEN))
    assert rows(table, "gap_p50", "gap_max", "gaps") == [(30_500.0, 31_000, 2)]


@pytest.mark.parametrize("seed", range(2))
def test_spark_and_duckdb_agree(spark: SparkSession, seed: int) -> None:
    journals = random_journals(seed)
    t0, t1 = observed(journals)
    seen = Observation(t0 + 300 * SECOND, t1 - 300 * SECOND) if seed % 2 else Observation(t0, t1)
    made = frames_of(spark, journals, seen)
    table = rows(broker_stats(made.broker_intervals, gaps(made.events, seen), made.ns_uptime, seen))
    inputs = {"broker_intervals": made.broker_intervals, "ns_uptime": made.ns_uptime, "events": made.events}
    other = query(duck.SQL.format(t0=seen.t0, t1=seen.t1), **inputs)
    assert table
    assert same(table, other)
