"""Topics: inventory, dead and hot ones, missing ones, load of brokers, skew and growth."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext, topic_config
from interop.harness.wire import frame as wire_frame
from interop.harness.wire import json_header
from rocketns.pipeline.contract.frames import Observation, columns, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, GROWTH, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.contract.times import DAY_US, HOUR_US
from rocketns.pipeline.jobs.earlier.tallies import callers, covered, hours
from rocketns.pipeline.jobs.fleet.growth import growth, growth_limits, sizes
from rocketns.pipeline.jobs.missing import missing_topics
from rocketns.pipeline.jobs.topics import (
    dead_topics,
    hot_topics,
    skew,
    system_topics,
    topic_days,
    topic_inventory,
    uncovered_days,
    with_kind,
)
from tests.pipeline.frames import Row, frame, rows

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
    topics = [present("dead"), present("busy"), present("young", 4), present("gone", 0, 9, "admin"), present("old"),
              present("%DLQ%g")]  # fmt: skip
    events = [*every_day("n1"), *every_day("n2"), asked("old", 2.9), asked("dead", 11)]
    found = dead_topics(
        frame(spark, TOPIC_INTERVALS, topics), *tallies(spark, events), frame(spark, NS_UPTIME, UP), names, SEEN
    )
    assert rows(found, "topic", "kind", "last_lookup") == [
        ("%DLQ%g", "dlq", None), ("dead", "user", None), ("old", "user", int(2.9 * DAY_US)),
    ]  # fmt: skip


def test_no_topic_is_called_dead_where_a_name_server_wrote_no_lookup_on_one_of_the_days(
    spark: SparkSession, names: DataFrame
) -> None:
    events = [*every_day("n1"), *[row for row in every_day("n2") if row["ts"] // DAY_US != 5]]
    (lookups, hours), up = tallies(spark, events), frame(spark, NS_UPTIME, UP)
    assert rows(uncovered_days(hours, up, SEEN, 7)) == [("n2", 4)]
    assert rows(uncovered_days(hours, up, SEEN, 11)) == [("n2", 4), (None, 10)], "nor are days before the journal"
    assert rows(dead_topics(frame(spark, TOPIC_INTERVALS, [present("dead")]), lookups, hours, up, names, SEEN)) == []


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


HOURS = Observation(0, 400 * HOUR_US)


def missed(topic: str, hour: float, miss: int, n: int | None = None, ns: str = "n1") -> Row:
    """A row whose interval of a minute began at ``hour``."""
    ts = int(hour * HOUR_US) + 60_000_000
    return {"ns": ns, "ev": "lookup", "ts": ts, "topic": topic, "n": n or miss, "miss": miss, "iv_ms": 60_000}


def test_hours_with_more_misses_than_the_hours_before_them_are_flagged(spark: SparkSession, names: DataFrame) -> None:
    records = []
    for hour in range(100):
        records.append(missed("quiet", hour, 2))  # median 2, mad 0: the bound is 7, and 20 misses are the least
        records.append(missed("loud", hour, 40 + hour % 2 * 20))  # median 50, mad 10: the bound is 50 + 5 * 14.826
    records += [missed("quiet", 100, 20), missed("quiet", 101, 19)]
    records += [missed("loud", 100, 125), missed("loud", 102, 124)]
    # Hours without a lookup count as none missed. 168 hours later the first is out of the history.
    records += [missed("rare", 0, 50), missed("rare", 30, 12), missed("rare", 30.5, 13, ns="n2")]
    records += [missed("rare", 169, 30)]
    # A new topic is flagged once, and a topic that was there before is not new.
    records += [missed("new", 50, 19), missed("new", 51, 21), missed("new", 52, 500), missed("new", 450, 900)]
    records += [missed("was", 10, 0, 5), missed("was", 60, 30), missed("*", 3, 99), missed("TBW102", 1, 30)]
    # A lookup counts in the hour of its interval's middle.
    records += [missed("late", 4, 20) | {"ns": f"n{n}", "ts": 5 * HOUR_US + n * 1_000_000, "iv_ms": 3_600_000}
                for n in (-2, 0, 2)]  # fmt: skip
    found = missing_topics(hours(frame(spark, EVENTS, records), HOURS), names)
    names_of = ("topic", "hour", "kind", "miss", "ns", "hours", "median", "mad", "bound", "topic_kind")
    told = [(row[0], row[1] // HOUR_US, *row[2:]) for row in rows(found, *names_of)]
    assert sorted(row[:6] for row in told if row[0] != "loud" or row[1] >= 100) == [
        ("TBW102", 1, "new", 30, ["n1"], 0),
        ("late", 4, "new", 60, ["n-2", "n0", "n2"], 0),
        ("loud", 100, "anomaly", 125, ["n1"], 100),
        ("new", 51, "new", 21, ["n1"], 1),
        ("quiet", 100, "anomaly", 20, ["n1"], 100),
        ("rare", 0, "new", 50, ["n1"], 0),
        ("rare", 30, "anomaly", 25, ["n1", "n2"], 30),
        ("rare", 169, "anomaly", 30, ["n1"], 168),
        ("was", 60, "anomaly", 30, ["n1"], 50),
    ]
    figures = {row[0]: row[6:] for row in told if row[1] in (1, 100)}
    assert figures["loud"] == (50, 10, 50 + 5 * 1.4826 * 10, "user")
    assert figures["quiet"][:2] == (2, 0)
    assert figures["TBW102"][3] == "system"


FOUR_DAYS = Observation(0, 4 * DAY_US)
LIMIT = 16 * 1024 * 1024


def held(topic: str, broker: str, t1: float, t2: float = 4, ns: str = "n1") -> Row:
    row = {"ns": ns, "topic": topic, "broker": broker, "r": 4, "w": 4, "p": 6, "cause": "register", "end_cause": "open"}
    return row | {"t1": int(t1 * DAY_US), "t2": int(t2 * DAY_US)}


def grown(spark: SparkSession, sizes: list[int]) -> DataFrame:
    """A registration of each size, and the list of topics as it always is."""
    told = [{"day": f"1970-01-{n + 1:02}", "topics": 1, "entries": 1, "brokers": 1, "registration_bytes": size,
             "broker": "a", "list_bytes": 200} for n, size in enumerate(sizes)]  # fmt: skip
    return frame(spark, GROWTH, told)


def test_each_day_counts_what_is_there_at_its_end(spark: SparkSession) -> None:
    topics = [
        held("one", "a", 0.5), held("one", "a", 0.6, ns="n2"), held("one", "b", 0.5, 3.5),
        held("three", "b", 1, 1.2), held("three", "b", 1.8),  # what was away for a while counts on
        held("gone", "b", 1.1, 1.9), held("née", "a", 2.999),
    ]  # fmt: skip
    one, three, nee = (663 + 144 + 6), 144 + 10, 144 + 8
    assert rows(growth(sizes(frame(spark, TOPIC_INTERVALS, topics), FOUR_DAYS))) == [
        ("1970-01-01", 1, 2, 2, one, "b", 170 + 6),
        ("1970-01-02", 2, 3, 2, one + three, "b", 170 + 6 + 8),
        ("1970-01-03", 3, 4, 2, one + three, "b", 170 + 6 + 8 + 7),
        ("1970-01-04", 3, 3, 2, one + nee, "a", 170 + 6 + 8 + 7),
    ]


def test_the_size_of_a_registration_is_about_that_of_a_broker_of_5x(spark: SparkSession) -> None:
    names = [f"topic-{n:06d}" for n in range(500)]
    told = [held(name, "broker-0001", 0) for name in names]
    (row,) = rows(growth(sizes(frame(spark, TOPIC_INTERVALS, told), Observation(0, DAY_US))), "registration_bytes")
    version = data_version(1, 1_700_000_000_001)
    wrapper = {"dataVersion": version, "mappingDataVersion": version,
               "topicConfigTable": {name: topic_config(name, 8, 8) for name in names},
               "topicQueueMappingDetailMap": {}, "topicQueueMappingInfoMap": {}}  # fmt: skip
    body = dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})
    ext = register_ext("DefaultCluster", "broker-0001", "10.100.100.100:10911", body=body)
    real = len(wire_frame(json_header(codes.REGISTER_BROKER, ext), body))
    assert row[0] == pytest.approx(real, rel=0.005)


def test_the_limit_is_reached_where_a_straight_line_gets_there(spark: SparkSession) -> None:
    """A tenth of the limit more each day: at 0.4 now, six days are left. Other lines do not get there within years."""
    tenth = LIMIT // 10
    found = growth_limits(grown(spark, [tenth, 2 * tenth, 3 * tenth, 4 * tenth]), FOUR_DAYS)
    assert rows(found, "measure", "now", "limit", "per_day", "reached") == [
        ("registration", 4 * tenth, LIMIT, pytest.approx(tenth), pytest.approx(10 * DAY_US, rel=1e-5)),
        ("topic_list", 200, LIMIT, 0.0, None),
    ]
    others: dict[tuple[int, ...], tuple[float | None, int | None]] = {
        (1000, 2000): (None, None),  # too short a history for a line
        (1000, 1100, 1200, 1300): (100.0, None),  # in 460 years
        (LIMIT + 2, LIMIT + 1, LIMIT): (-1.0, FOUR_DAYS.t1),
    }
    for of_days, (per_day, reached) in others.items():
        line = growth_limits(grown(spark, list(of_days)), FOUR_DAYS).where("measure = 'registration'")
        assert rows(line, "per_day", "reached") == [(per_day and pytest.approx(per_day), reached)], of_days
