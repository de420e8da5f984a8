"""Storms of registrations: what belongs to one, in which order, and what it brought."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.fleet.growth import sizes
from rocketns.pipeline.jobs.fleet.storms import storm_registrations, storms
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

SEEN = Observation(0, 10_000 * SECOND)
UP = {"ns": "n1", "boot": 1, "t1": 0, "t2": SEEN.t1, "end_cause": "open"}


def listed(broker: str, t1: float, t2: float = 10_000, bid: int = 0, ns: str = "n1") -> Row:
    row = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{bid}"}
    return row | {"t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": "open"}


def held(topic: str, broker: str, t1: float, cause: str = "register") -> Row:
    row = {"ns": "n1", "topic": topic, "broker": broker, "r": 4, "w": 4, "p": 6, "cause": cause, "end_cause": "open"}
    return row | {"t1": int(t1 * SECOND), "t2": SEEN.t1}


def found(spark: SparkSession, members: list[Row], topics: list[Row] = [], up: Row = UP) -> DataFrame:  # noqa: B006
    there = frame(spark, TOPIC_INTERVALS, topics)
    return storm_registrations(
        frame(spark, BROKER_INTERVALS, members), there, frame(spark, NS_UPTIME, [up]), sizes(there, SEEN)
    )


def test_registrations_that_follow_each_other_within_half_a_minute_are_a_storm(spark: SparkSession) -> None:
    times = (1000, 1030, 1060, 1060, 1090, 1120.001, 1130, 1140, 1150)  # five; then four
    members = [listed(f"b{n}", t) for n, t in enumerate(times)]
    told = found(spark, members)
    assert rows(told, "place", "broker", "t") == [
        (place, f"b{place - 1}", t * SECOND) for place, t in enumerate(times[:5], 1)
    ]
    assert rows(storms(told), "ns", "t1", "t2", "trigger", "registrations", "brokers", "peak_s", "first", "last") == [
        ("n1", 1000 * SECOND, 1090 * SECOND, "new", 5, 5, 2, "b0", "b4"),
    ]


@pytest.mark.parametrize(("away", "trigger"), [(2, "new"), (3, "return")])
def test_a_storm_of_those_that_were_listed_before_is_a_return(spark: SparkSession, away: int, trigger: str) -> None:
    members = [listed("b", 2000 + n, bid=n) for n in range(5)] + [listed("b", 500, 1990, bid=n) for n in range(away)]
    told = found(spark, members)
    assert rows(told, "trigger", "away_s") == sorted([(trigger, 10.0 + n) for n in range(away)]
                                                     + [(trigger, None)] * (5 - away), key=repr)  # fmt: skip
    assert rows(storms(told), "registrations", "brokers") == [(5, 1)]


@pytest.mark.parametrize(("first", "trigger"), [(120, "start"), (120.001, "new")])
def test_a_storm_soon_after_the_start_is_the_starts(spark: SparkSession, first: float, trigger: str) -> None:
    members = [listed(f"b{n}", first + n) for n in range(5)]
    assert rows(storms(found(spark, members)), "trigger") == [(trigger,)]


def test_brokers_of_the_first_snapshot_are_no_registrations(spark: SparkSession) -> None:
    up = UP | {"t1": 50 * SECOND}
    assert rows(found(spark, [listed(f"b{n}", 50) for n in range(9)], up=up)) == []


def test_another_boot_or_name_server_has_storms_of_its_own(spark: SparkSession) -> None:
    members = [listed(f"b{n}", 200 + n) for n in range(4)] + [listed("x", 202, ns="n2")]
    assert rows(found(spark, members)) == []


def test_changed_topics_and_bytes_are_those_of_the_broker(spark: SparkSession) -> None:
    """A registration has about 663 bytes, and 144 and twice the name for each topic the broker has that day."""
    members = [listed(f"b{n}", 1000 + 10 * n) for n in range(5)]
    topics = [
        held("one", "b0", 1000),
        held("three", "b0", 1000.5),
        held("later", "b0", 1002),
        held("x", "b1", 1010, "topic"),
    ]
    told = found(spark, members, topics)
    assert rows(told, "broker", "topics", "bytes") == [
        ("b0", 2, 663 + 3 * 144 + 2 * (3 + 5 + 5)), ("b1", 0, 663 + 144 + 2), ("b2", 0, None), ("b3", 0, None),
        ("b4", 0, None),
    ]  # fmt: skip
    assert rows(storms(told), "topics", "bytes") == [(2, 2 * 663 + 4 * 144 + 28)]
