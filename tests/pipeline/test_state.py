"""Job (a): uptime of name servers, and what they knew of brokers and topics."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline import state
from rocketns.pipeline.schema import BROKER_INTERVALS, NS_UPTIME, TOPIC_INTERVALS, Observation
from tests.pipeline.duck import state as duck
from tests.pipeline.frames import duck_events, duck_rows, rows
from tests.pipeline.journals import (
    SECOND,
    Broker,
    Journal,
    Journals,
    events_frame,
    observed,
    random_journals,
    topic,
    worked_example,
)

A, B = Broker("broker-a", "10.0.0.1:10911"), Broker("broker-b", "10.0.0.2:10911")
T = topic("T")


def seconds(*times: int) -> list[int]:
    return [time // SECOND for time in times]


def brokers_of(spark: SparkSession, journals: Journals, end_s: int) -> list[tuple[object, ...]]:
    """(ns, broker, t1, t2, end_cause), times in s."""
    events, observation = events_frame(spark, journals), Observation(0, end_s * SECOND)
    found = state.broker_intervals(events, state.base(events, observation, keep=DataFrame.cache), observation)
    return [(r[0], r[2], *seconds(r[5], r[6]), r[7]) for r in rows(found)]


def topics_of(spark: SparkSession, journals: Journals, end_s: int) -> list[tuple[object, ...]]:
    """(ns, topic, broker, r, t1, t2, cause, end_cause), times in s."""
    events, observation = events_frame(spark, journals), Observation(0, end_s * SECOND)
    found = state.topic_intervals(events, state.base(events, observation, keep=DataFrame.cache), observation)
    return [(*r[:4], *seconds(r[6], r[7]), r[8], r[9]) for r in rows(found)]


def test_the_worked_example_gives_its_intervals(spark: SparkSession) -> None:
    assert brokers_of(spark, worked_example(), 400) == [
        ("n1", "broker-a", 1, 400, "open"),
        ("n1", "broker-b", 2, 400, "open"),
        ("n2", "broker-a", 1, 400, "open"),
        ("n2", "broker-b", 2, 185, "expired"),
        ("n2", "broker-b", 302, 400, "open"),
    ]
    assert topics_of(spark, worked_example(), 400)[3:] == [
        ("n2", "order_topic", "broker-b", 4, 2, 185, "register", "expired"),
        ("n2", "order_topic", "broker-b", 4, 302, 400, "register", "open"),
    ]


def test_the_closing_record_gives_its_gap_and_the_last_told_timeout_counts(spark: SparkSession) -> None:
    events, observation = events_frame(spark, worked_example()), Observation(0, 400 * SECOND)
    found = state.broker_intervals(events, state.base(events, observation, keep=DataFrame.cache), observation)
    assert found.schema.simpleString() == BROKER_INTERVALS.simpleString()
    assert [(r[8], r[9]) for r in rows(found)] == [(None, 120_000)] * 3 + [(123_000, 120_000), (None, 120_000)]


def test_a_stop_closes_everything_and_a_start_begins_empty(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.stop(5 * SECOND)
    journal.start(8 * SECOND)
    journal.register(9 * SECOND, A, [T])
    journals = {"n1": journal.records}
    assert brokers_of(spark, journals, 20) == [("n1", "broker-a", 1, 5, "stop"), ("n1", "broker-a", 9, 20, "open")]
    assert topics_of(spark, journals, 20) == [
        ("n1", "T", "broker-a", 4, 1, 5, "register", "stop"),
        ("n1", "T", "broker-a", 4, 9, 20, "register", "open"),
    ]


def test_a_killed_name_server_is_unknown_from_its_last_record(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A)
    journal.heartbeat(4 * SECOND, A)
    journal.start(8 * SECOND)
    events, observation = events_frame(spark, {"n1": journal.records}), Observation(0, 20 * SECOND)
    up = state.ns_uptime(events, observation)
    assert up.schema.simpleString() == NS_UPTIME.simpleString()
    assert [(r[1], *seconds(r[2], r[3]), r[4]) for r in rows(up)] == [(0, 0, 4, "lost"), (8000, 8, 20, "open")]
    assert brokers_of(spark, {"n1": journal.records}, 20) == [("n1", "broker-a", 1, 4, "lost")]


@pytest.mark.parametrize(("end_s", "found"), [(121, (1, 121, "open")), (122, None)])
def test_a_name_server_without_a_stop_that_wrote_nothing_for_long_is_silent(
    spark: SparkSession, end_s: int, found: tuple[int, int, str] | None
) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A)
    intervals = brokers_of(spark, {"n1": journal.records}, end_s)
    assert intervals == ([("n1", "broker-a", *found)] if found else [])


def test_only_another_value_opens_a_topic_interval(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.add(2 * SECOND, "tput", broker="broker-a", cause="heartbeat", topics=[T])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=8)])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=16)], cause="perm")
    journal.delete(4 * SECOND, "broker-a", ["T"])
    assert topics_of(spark, {"n1": journal.records}, 20) == [
        ("n1", "T", "broker-a", 16, 3, 4, "perm", "admin"),
        ("n1", "T", "broker-a", 4, 1, 3, "register", "topic"),
    ]


def test_a_journal_that_begins_in_the_middle_is_known_from_its_first_whole_snapshot(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.register(2 * SECOND, B, [T])
    journal.down(3 * SECOND, B, "expired")
    journal.heartbeat(4 * SECOND, A)
    first_there = journal.seq
    journal.snapshot(10 * SECOND)
    journal.register(12 * SECOND, B, [T])
    journals = {"n1": [r for r in journal.records if r["seq"] >= first_there]}
    assert brokers_of(spark, journals, 20) == [("n1", "broker-a", 10, 20, "open"), ("n1", "broker-b", 12, 20, "open")]
    assert topics_of(spark, journals, 20)[0] == ("n1", "T", "broker-a", 4, 10, 20, "snapshot", "open")


def test_a_torn_snapshot_tells_no_state(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    torn = [r for r in journal.records if r["ev"] == "snap" and r.get("part") != 1]
    assert brokers_of(spark, {"n1": torn}, 20) == []
    assert brokers_of(spark, {"n1": journal.records[-3:]}, 20) == [("n1", "broker-a", 10, 20, "open")]


def test_a_snapshot_after_lost_records_corrects_the_state(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.down(3 * SECOND, A, "expired")
    journal.lose(3 * SECOND, 2)
    journal.register(4 * SECOND, B, [T])
    journal.lose(4 * SECOND, 2)
    journal.snapshot(10 * SECOND)
    journals = {"n1": journal.records}
    assert brokers_of(spark, journals, 20) == [
        ("n1", "broker-a", 1, 10, "snapshot"),
        ("n1", "broker-b", 10, 20, "open"),
    ]
    assert topics_of(spark, journals, 20) == [
        ("n1", "T", "broker-a", 4, 1, 10, "register", "snapshot"),
        ("n1", "T", "broker-b", 4, 10, 20, "snapshot", "open"),
    ]


def test_a_snapshot_without_lost_records_changes_nothing(spark: SparkSession) -> None:
    journal = Journal(0)
    journal.register(1 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    assert topics_of(spark, {"n1": journal.records}, 20) == [("n1", "T", "broker-a", 4, 1, 20, "register", "open")]


def test_a_clock_that_was_set_back_makes_no_interval_end_before_it_began(spark: SparkSession) -> None:
    journal = Journal(100 * SECOND)
    journal.register(110 * SECOND, A, [T])
    journal.heartbeat(105 * SECOND, A)
    journal.down(108 * SECOND, A, "expired")
    journal.register(120 * SECOND, A, [T])
    assert brokers_of(spark, {"n1": journal.records}, 200) == [("n1", "broker-a", 120, 200, "open")]


def harmed(journals: Journals, seed: int) -> Journals:
    """The same journals with their beginning cut off and records lost, at random."""
    chance = random.Random(seed)
    out = {}
    for ns, records in journals.items():
        first = chance.choice((0, 0, chance.randrange(len(records))))
        loss = chance.choice((0, 0.02, 0.1))
        out[ns] = [r for r in records[first:] if chance.random() >= loss] or records[-1:]
    return out


@pytest.mark.parametrize("seed", range(8))
def test_state_is_that_of_the_independent_version(spark: SparkSession, seed: int) -> None:
    journals = random_journals(seed)
    journals = harmed(journals, seed) if seed % 2 else journals
    start, end = observed(journals)
    observation = Observation(start + (end - start) // 5 * (seed % 3), end)
    events = events_frame(spark, journals).cache()
    base = state.base(events, observation, keep=DataFrame.cache)
    db = duck_events(journals)
    duck.prepare(db, *observation, state.SILENT_AFTER_US)
    duck.broker_intervals(db)
    brokers = state.broker_intervals(events, base, observation)
    assert rows(base.uptime) == duck_rows(db, "select * from uptime")
    assert rows(brokers) == duck_rows(db, "select * from broker_intervals")
    duck.topic_intervals(db)
    topics = state.topic_intervals(events, base, observation)
    assert rows(topics) == duck_rows(db, "select * from topic_intervals")
    assert topics.schema.simpleString() == TOPIC_INTERVALS.simpleString()
    events.unpersist()
