"""Inventory, dead and hot topics, skew."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation, columns, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.earlier.tallies import callers, covered
from rocketns.pipeline.jobs.topics import (
    dead_topics,
    hot_topics,
    skew,
    system_topics,
    topic_days,
    topic_inventory,
    uncovered_days,
    with_kind,
    without_unread,
)
from tests.pipeline.draws import seeds
from tests.pipeline.duck import topics as duck
from tests.pipeline.duck.query import query, same
from tests.pipeline.intervals import Row, frame, rows

SEEN = Observation(0, 10 * DAY_US)
BROKERS = [{"ns": "n", "cluster": "c", "broker": b, "bid": 0, "addr": b, "t1": 0, "t2": 9} for b in ("b1", "b2")]
UP = [{"ns": ns, "boot": 1, "t1": 0, "t2": SEEN.t1, "end_cause": "open"} for ns in ("n1", "n2")]


def present(topic: str, t1: float = 0, t2: float = 10, end_cause: str = "open", **other: object) -> Row:
    row = {"ns": "n1", "topic": topic, "broker": "b1", "r": 4, "w": 4, "p": 6, "cause": "register"}
    return row | {"t1": int(t1 * DAY_US), "t2": int(t2 * DAY_US), "end_cause": end_cause} | other


def asked(topic: str, day: float, n: int = 1, ns: str = "n1") -> Row:
    return {"ns": ns, "ev": "lookup", "ts": int(day * DAY_US), "topic": topic, "n": n, "miss": 0, "iv_ms": 60_000}


def every_day(ns: str) -> list[Row]:
    return [asked("busy", day + 0.5, 1, ns) for day in range(10)]


@pytest.fixture(scope="module")
def names(spark: SparkSession) -> DataFrame:
    return system_topics(frame(spark, BROKER_INTERVALS, BROKERS)).cache()


def test_topics_of_brokers_and_consumers_have_kinds_of_their_own(spark: SparkSession, names: DataFrame) -> None:
    kinds = {
        "orders": "user", "b1": "system", "c": "system", "c_REPLY_TOPIC": "system", "rmq_sys_x": "system",
        "TBW102": "system", "%RETRY%g": "retry", "%DLQ%g": "dlq", "RETRY": "user",
    }  # fmt: skip
    found = with_kind(frame_of(spark, [(topic,) for topic in kinds], columns("topic:string")), names)
    assert dict(rows(found, "topic", "kind")) == kinds


def test_a_system_topic_that_no_group_reads_is_left_out(spark: SparkSession, names: DataFrame) -> None:
    segments = frame_of(spark, [(topic,) for topic in ("orders", "TBW102", "b1", "%RETRY%g")], columns("topic:string"))
    members = frame_of(spark, [("TBW102",), ("orders",)], columns("topic:string"))
    assert rows(without_unread(segments, names, members)) == [("%RETRY%g",), ("TBW102",), ("orders",)]
    assert rows(without_unread(segments, names, members.limit(0))) == [("%RETRY%g",), ("orders",)]


def test_topics_and_queues_of_a_day_count_once_whoever_lists_them(spark: SparkSession, names: DataFrame) -> None:
    there = [
        present("t", 0.5, 1.5, "heartbeat"),
        present("t", 1.5, 2, r=8),  # it ends with the second day, so the third has nothing of it
        present("t", 0.5, 1.5, ns="n2"),
        present("t", 0, 1, broker="b2", r=2),
        present("u", 1, 2),
    ]
    found = topic_days(frame(spark, TOPIC_INTERVALS, there), names)
    assert rows(found) == [("1970-01-01", "user", 1, 6), ("1970-01-02", "user", 2, 12)]


def test_a_topic_is_removed_when_its_last_interval_is_closed_by_a_removal(
    spark: SparkSession, names: DataFrame
) -> None:
    up = [UP[0], {**UP[1], "t2": 3 * DAY_US, "end_cause": "stop"}]
    there = [
        present("kept", 1),
        present("kept", 1, 5, "admin", ns="n2"),
        present("gone", 2, 4, "admin"),
        present("gone", 2, 3, "expired", ns="n2"),
        present("unknown", 2, 3, "stop", ns="n2"),
    ]
    found = topic_inventory(frame(spark, TOPIC_INTERVALS, there), frame(spark, NS_UPTIME, up), names, SEEN)
    assert rows(found) == [
        ("gone", "user", 0, 0, 2 * DAY_US, 4 * DAY_US),
        ("kept", "user", 1, 4, DAY_US, None),
        ("unknown", "user", 0, 0, 2 * DAY_US, None),
    ]


def tallies(spark: SparkSession, events: list[Row]) -> tuple[DataFrame, DataFrame]:
    """CALLERS and COVERED."""
    told = frame(spark, EVENTS, events)
    return callers(told, SEEN), covered(told, SEEN)


def test_dead_is_who_was_there_all_the_days_and_was_asked_for_on_none(spark: SparkSession, names: DataFrame) -> None:
    topics = [
        present("dead"),
        present("busy"),
        present("young", 4),
        present("gone", 0, 9, "admin"),
        present("old"),
        present("%DLQ%g"),
    ]
    events = [*every_day("n1"), *every_day("n2"), asked("old", 2.9), asked("dead", 11)]
    found = dead_topics(
        frame(spark, TOPIC_INTERVALS, topics), *tallies(spark, events), frame(spark, NS_UPTIME, UP), names, SEEN
    )
    assert rows(found, "topic", "kind", "last_lookup") == [
        ("%DLQ%g", "dlq", None),
        ("dead", "user", None),
        ("old", "user", int(2.9 * DAY_US)),
    ]


def test_no_topic_is_called_dead_where_a_name_server_wrote_no_lookup_on_one_of_the_days(
    spark: SparkSession, names: DataFrame
) -> None:
    events = [*every_day("n1"), *[row for row in every_day("n2") if row["ts"] // DAY_US != 5]]
    (lookups, hours), up = tallies(spark, events), frame(spark, NS_UPTIME, UP)
    assert rows(uncovered_days(hours, up, SEEN, 7)) == [("n2", 4)]
    assert rows(dead_topics(frame(spark, TOPIC_INTERVALS, [present("dead")]), lookups, hours, up, names, SEEN)) == []


def test_days_before_the_journal_are_not_covered(spark: SparkSession) -> None:
    _, hours = tallies(spark, [*every_day("n1"), *every_day("n2")])
    assert rows(uncovered_days(hours, frame(spark, NS_UPTIME, UP), SEEN, 11)) == [(None, 10)]


def test_hot_topics_are_ranked_within_their_kind(spark: SparkSession, names: DataFrame) -> None:
    events = [asked("a", 1, 5), asked("b", 1, 20), asked("b", 2, 10, "n2"), asked("%RETRY%g", 1, 65), asked("*", 1, 9)]
    found = hot_topics(callers(frame(spark, EVENTS, events), SEEN), names, SEEN)
    assert rows(found, "topic", "kind", "rank", "n", "share") == [
        ("%RETRY%g", "retry", 1, 65, 0.65),
        ("a", "user", 2, 5, 0.05),
        ("b", "user", 1, 30, 0.3),
    ]


def test_skew_is_the_largest_over_the_mean(spark: SparkSession, names: DataFrame) -> None:
    topics = [present("t", r=2), present("t", broker="b2", r=6), present("none", r=0)]
    found = skew(frame(spark, TOPIC_INTERVALS, topics), frame(spark, NS_UPTIME, UP), names)
    assert rows(found) == [("none", "user", 1, 0, 0, 0.0, None), ("t", "user", 2, 2, 6, 4.0, 1.5)]


def random_case(seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Topic intervals, lookups and name server uptimes of some 10 days."""
    chance = random.Random(seed)
    topics = ["t1", "t2", "t3", "t4", "%RETRY%g", "b1"]
    lives = []
    for ns in ("n1", "n2"):
        for topic in topics:
            edges = sorted(chance.uniform(0, 10) for _ in range(chance.choice((0, 1, 2, 4))))
            edges = [0.0, *edges] if chance.random() < 0.6 else edges
            ends = ["admin", "heartbeat", "expired", "stop"]
            for t1, t2 in zip(edges[::2], [*edges[1::2], 10.0], strict=False):
                cause = "open" if t2 == 10 else chance.choice(ends)
                broker, r = chance.choice(("b1", "b2")), chance.choice((0, 2, 4, 8))
                lives.append(present(topic, t1, t2, cause, ns=ns, broker=broker, r=r))
    lookups = [
        asked(chance.choice(["t1", "%RETRY%g", "x", "*"]), chance.uniform(0, 10.2), chance.randint(1, 9), ns)
        for ns in ("n1", "n2")
        for _ in range(120)
    ]
    stopped = {"t2": int(chance.uniform(1, 9) * DAY_US), "end_cause": "stop"} if chance.random() < 0.3 else {}
    return lives, lookups, [UP[0], UP[1] | stopped]


@pytest.mark.parametrize("seed", seeds(0))
def test_spark_and_duckdb_agree_on_dead_topics(spark: SparkSession, names: DataFrame, seed: int) -> None:
    lives, lookups, up = random_case(seed)
    frames = {
        "topic_intervals": frame(spark, TOPIC_INTERVALS, lives),
        "events": frame(spark, EVENTS, lookups),
        "ns_uptime": frame(spark, NS_UPTIME, up),
        "broker_intervals": frame(spark, BROKER_INTERVALS, BROKERS),
    }
    asking = callers(frames["events"], SEEN), covered(frames["events"], SEEN)
    found = rows(dead_topics(frames["topic_intervals"], *asking, frames["ns_uptime"], names, SEEN, dead_days=2))
    assert found
    assert same(found, query(duck.DEAD.format(t0=SEEN.t0, t1=SEEN.t1, days=2), **frames))
