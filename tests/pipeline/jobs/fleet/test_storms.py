"""Storms of registrations: what belongs to one, in which order, and what it brought."""

from __future__ import annotations

from collections.abc import Sequence

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


def found(spark: SparkSession, members: list[Row], topics: Sequence[Row] = (), up: Sequence[Row] = (UP,)) -> DataFrame:
    there = frame(spark, TOPIC_INTERVALS, topics)
    return storm_registrations(
        frame(spark, BROKER_INTERVALS, members), there, frame(spark, NS_UPTIME, up), sizes(there, SEEN)
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


def test_a_storm_of_those_that_were_listed_before_is_a_return(spark: SparkSession) -> None:
    away = {"new": 2, "return": 3}
    members = [listed("b", 2000 + n, bid=n, ns=ns) for ns in away for n in range(5)]
    members += [listed("b", 500, 1990, bid=n, ns=ns) for ns, count in away.items() for n in range(count)]
    told = found(spark, members, up=[UP | {"ns": ns} for ns in away])
    assert rows(told, "ns", "trigger", "bid", "away_s") == [
        (ns, ns, n, 10.0 + n if n < count else None) for ns, count in away.items() for n in range(5)
    ]
    assert rows(storms(told), "ns", "registrations", "brokers") == [("new", 5, 1), ("return", 5, 1)]


def test_a_storm_is_one_name_servers_and_soon_after_its_start_the_starts(spark: SparkSession) -> None:
    """What it had when it became known did not register then."""
    first = {"start": 120, "new": 120.001}
    members = [listed(f"b{n}", second + n, ns=ns) for ns, second in first.items() for n in range(5)]
    members += [listed(f"b{n}", 0, ns="there") for n in range(9)]
    members += [listed(f"b{n}", 200 + n, ns="one") for n in range(4)] + [listed("x", 202, ns="other")]
    up = [UP | {"ns": ns} for ns in (*first, "there", "one", "other")]
    assert rows(storms(found(spark, members, up=up)), "ns", "trigger") == [("new", "new"), ("start", "start")]


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
