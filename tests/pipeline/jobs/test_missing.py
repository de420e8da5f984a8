"""Bursts of lookups of topics that do not exist."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS
from rocketns.pipeline.contract.times import HOUR_US
from rocketns.pipeline.jobs.earlier.tallies import hours
from rocketns.pipeline.jobs.missing import missing_topics
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.draws import seeds
from tests.pipeline.duck import missing as duck
from tests.pipeline.duck.query import query, same
from tests.pipeline.intervals import Row, frame, rows

SEEN = Observation(0, 400 * HOUR_US)


def asked(topic: str, hour: float, miss: int, n: int | None = None, ns: str = "n1") -> Row:
    """A row whose interval of a minute began at ``hour``."""
    ts = int(hour * HOUR_US) + 60_000_000
    return {"ns": ns, "ev": "lookup", "ts": ts, "topic": topic, "n": n or miss, "miss": miss, "iv_ms": 60_000}


BROKERS = [{"ns": "n1", "cluster": "c", "broker": "broker-a", "bid": 0, "addr": "a"}]


def own(spark: SparkSession) -> DataFrame:
    """The topics that broker-a makes for itself."""
    return system_topics(frame(spark, BROKER_INTERVALS, BROKERS))


def test_system_topics_are_flagged_with_their_kind(spark: SparkSession) -> None:
    """A producer looks up TBW102 by itself where its own topic is missing."""
    records = [asked("TBW102", 1, 30), asked("broker-a", 1, 30), asked("orders", 1, 30)]
    found = missing_topics(hours(frame(spark, EVENTS, records), SEEN), own(spark))
    assert rows(found, "topic", "topic_kind") == [("TBW102", "system"), ("broker-a", "system"), ("orders", "user")]


def test_an_hour_is_judged_by_the_hours_before_it(spark: SparkSession) -> None:
    records = []
    for hour in range(100):
        records.append(asked("quiet", hour, 2))  # median 2, mad 0: the bound is 7, and 20 misses are the least
        records.append(asked("loud", hour, 40 + hour % 2 * 20))  # median 50, mad 10: the bound is 50 + 5 * 14.826
    records += [asked("quiet", 100, 20), asked("quiet", 101, 19)]
    records += [asked("loud", 100, 125), asked("loud", 102, 124)]
    found = missing_topics(hours(frame(spark, EVENTS, records), SEEN), own(spark)).where(F.col("hour") >= 100 * HOUR_US)
    assert rows(found, "topic", "hour", "kind", "miss", "hours", "median", "mad") == [
        ("loud", 100 * HOUR_US, "anomaly", 125, 100, 50.0, 10.0),
        ("quiet", 100 * HOUR_US, "anomaly", 20, 100, 2.0, 0.0),
    ]
    assert [row.bound for row in found.where("topic = 'loud'").collect()] == [50 + 5 * 1.4826 * 10]


def test_hours_without_a_lookup_count_as_none_missed_and_history_ends_after_a_week(spark: SparkSession) -> None:
    records = [asked("rare", 0, 50, ns="n1"), asked("rare", 30, 12, ns="n1"), asked("rare", 30.5, 13, ns="n2")]
    # 168 hours later the first is out of the history: 167 hours of nothing and the one with 25 before.
    records += [asked("rare", 169, 30)]
    found = missing_topics(hours(frame(spark, EVENTS, records), SEEN), own(spark))
    assert rows(found, "hour", "kind", "miss", "ns", "hours") == [
        (0, "new", 50, ["n1"], 0),
        (30 * HOUR_US, "anomaly", 25, ["n1", "n2"], 30),
        (169 * HOUR_US, "anomaly", 30, ["n1"], 168),
    ]


def test_a_new_topic_is_flagged_once_and_a_topic_that_was_there_before_is_not_new(spark: SparkSession) -> None:
    records = [asked("new", 50, 19), asked("new", 51, 21), asked("new", 52, 500)]
    records += [asked("was", 10, 0, 5), asked("was", 60, 30), asked("*", 3, 99), asked("new", 450, 900)]
    found = missing_topics(hours(frame(spark, EVENTS, records), SEEN), own(spark))
    assert rows(found, "topic", "hour", "kind") == [("new", 51 * HOUR_US, "new"), ("was", 60 * HOUR_US, "anomaly")]


def test_a_lookup_counts_in_the_hour_of_its_intervals_middle(spark: SparkSession) -> None:
    records = [
        asked(f"{late_s} s", 4, 20) | {"ts": 5 * HOUR_US + late_s * 1_000_000, "iv_ms": 3_600_000}
        for late_s in (-2, 0, 2)
    ]
    found = missing_topics(hours(frame(spark, EVENTS, records), SEEN), own(spark))
    assert rows(found, "hour") == [(4 * HOUR_US,)] * 3


@pytest.mark.parametrize("seed", seeds(0))
def test_spark_and_duckdb_agree(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    records = []
    for topic, level in (("a", 5), ("b", 18), ("c", 60), ("d", 1)):
        for hour in sorted(chance.sample(range(400), 250)):
            miss = max(0, round(chance.gauss(level, level / 3))) + (chance.random() < 0.05) * chance.randint(10, 200)
            records.append(asked(topic, hour + chance.random(), miss, miss + 3, chance.choice(("n1", "n2"))))
    events = frame(spark, EVENTS, records)
    brokers = frame(spark, BROKER_INTERVALS, BROKERS)
    found = rows(missing_topics(hours(events, SEEN), system_topics(brokers)))
    theirs = query(duck.SQL.format(t0=SEEN.t0, t1=SEEN.t1), events=events, broker_intervals=brokers)
    assert len(found) > 10
    assert same(found, theirs)
