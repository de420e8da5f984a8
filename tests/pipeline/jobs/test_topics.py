"""Topics: who serves them, who asks for them, dead ones, missing ones."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation, plain_rows
from rocketns.pipeline.contract.schema import EVENTS, TOPIC_INTERVALS
from rocketns.pipeline.contract.terms import DAY_US, HOUR_US
from rocketns.pipeline.jobs.tallies import callers, covered, hours
from rocketns.pipeline.jobs.topics import (
    dead_topics,
    kind_of,
    missing_topics,
    system_topics,
    topics,
    uncovered,
    user_topics_of_brokers,
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


NAMES = system_topics(BROKERS)


def test_topics_of_brokers_and_consumers_have_kinds_of_their_own() -> None:
    kinds = {
        "orders": "user", "b1": "system", "c": "system", "c_REPLY_TOPIC": "system", "rmq_sys_x": "system",
        "TBW102": "system", "%RETRY%g": "retry", "%DLQ%g": "dlq", "RETRY": "user",
    }  # fmt: skip
    assert {topic: kind_of(topic, NAMES) for topic in kinds} == kinds


def listed(broker: str, bid: int = 0, t2: float = 10) -> Row:
    row = {"ns": "n1", "cluster": "c", "broker": broker, "bid": bid, "addr": broker, "end_cause": "open"}
    return row | {"t1": 0, "t2": int(t2 * DAY_US)}


def every_topic(
    spark: SparkSession,
    there: list[Row],
    asked_for: DataFrame | None = None,
    brokers: list[Row] | None = None,
    up: list[Row] | None = None,
) -> DataFrame:
    """TOPICS; by default n1 lists b1 and b2, and nobody asks."""
    lookups = callers(frame(spark, EVENTS, []), SEEN) if asked_for is None else asked_for
    members = [listed("b1"), listed("b2")] if brokers is None else brokers
    return topics(frame(spark, TOPIC_INTERVALS, there), members, up or UP, lookups, NAMES, SEEN)


def test_a_topic_is_removed_when_its_last_interval_is_closed_by_a_removal(spark: SparkSession) -> None:
    up = [UP[0], {**UP[1], "t2": 3 * DAY_US, "end_cause": "stop"}]
    there = [
        present("kept", 1),
        present("kept", 1, 5, "admin", ns="n2"),
        present("gone", 2, 4, "admin"),
        present("gone", 2, 3, "expired", ns="n2"),
        present("unknown", 2, 3, "stop", ns="n2"),
    ]
    found = every_topic(spark, there, up=up)
    assert rows(found, "topic", "kind", "served", "queues", "created", "removed") == [
        ("gone", "user", 0, 0, 2 * DAY_US, 4 * DAY_US),
        ("kept", "user", 1, 4, DAY_US, None),
        ("unknown", "user", 0, 0, 2 * DAY_US, None),
    ]


def test_a_broker_serves_a_topic_with_a_master_and_queues_that_may_be_written_to(spark: SparkSession) -> None:
    """All have the topic at the end; where name servers differ, the largest number of queues counts."""
    brokers = [listed(name) for name in ("a", "b", "reads", "empty")]
    brokers += [listed("slave", bid=1), listed("gone", t2=9), listed("gone", bid=1)]
    of_brokers = {"a": {}, "b": {"r": 8}, "reads": {"p": 4}, "empty": {"w": 0}, "slave": {}, "gone": {}}
    there = [present("t", broker=name, **more) for name, more in of_brokers.items()]
    there += [present("t", broker="b", r=2, ns="n2"), present("alone", broker="a"), present("was", 0, 9, broker="a")]
    found = every_topic(spark, there, brokers=brokers)
    assert rows(found, "topic", "served", "brokers", "queues", "skew") == [
        ("alone", 1, ["a"], 4, 1.0), ("t", 2, ["a", "b"], 28, 8 / (28 / 6)), ("was", 0, [], 0, None),
    ]  # fmt: skip


def test_lookups_of_a_topic_count_whether_or_not_a_broker_has_it(spark: SparkSession) -> None:
    events = [asked("a", 1, 5), asked("b", 1, 20) | {"miss": 20}, asked("b", 2, 10, "n2"), asked("*", 1, 9)]
    lookups = callers(frame(spark, EVENTS, events), SEEN)
    found = every_topic(spark, [present("a"), present("quiet")], lookups)
    assert rows(found, "topic", "n", "miss", "last_lookup", "created") == [
        ("a", 5, 0, DAY_US, 0), ("b", 30, 20, 2 * DAY_US, None), ("quiet", 0, 0, None, 0),
    ]  # fmt: skip


def test_what_is_at_stake_are_the_user_topics_that_a_broker_ever_had(spark: SparkSession) -> None:
    there = [
        present("t", 0, 5, r=8),
        present("t", 5, r=2),
        present("u", ns="n2"),
        present("b1"),
        present("TBW102", broker="b2"),
    ]
    found = user_topics_of_brokers(frame(spark, TOPIC_INTERVALS, there), NAMES, SEEN)
    assert found == {
        "b1": {"broker": "b1", "topics": 2, "queues": 12, "topic_sample": ["t", "u"]},
        "b2": {"broker": "b2", "topics": 0, "queues": 0, "topic_sample": []},
    }


def tallies(spark: SparkSession, events: list[Row]) -> tuple[DataFrame, list[Row]]:
    """CALLERS, and the rows of COVERED."""
    told = frame(spark, EVENTS, events)
    return callers(told, SEEN), plain_rows(covered(told, SEEN))


def test_dead_is_who_was_there_all_the_days_and_was_asked_for_on_none(spark: SparkSession) -> None:
    there = [present("dead"), present("busy"), present("young", 4), present("gone", 0, 9, "admin"), present("old"),
              present("%DLQ%g")]  # fmt: skip
    events = [*every_day("n1"), *every_day("n2"), asked("old", 2.9), asked("dead", 11)]
    lookups, hours = tallies(spark, events)
    nowhere = uncovered(hours, UP, SEEN, 7)
    found = dead_topics(every_topic(spark, there, lookups), nowhere, SEEN)
    assert rows(found, "topic", "kind", "last_lookup") == [
        ("%DLQ%g", "dlq", None), ("dead", "user", None), ("old", "user", int(2.9 * DAY_US)),
    ]  # fmt: skip


def test_no_topic_is_called_dead_where_a_name_server_wrote_no_lookup_on_one_of_the_days(spark: SparkSession) -> None:
    events = [*every_day("n1"), *[row for row in every_day("n2") if row["ts"] // DAY_US != 5]]
    lookups, hours = tallies(spark, events)
    nowhere = uncovered(hours, UP, SEEN, 7)
    assert nowhere == {("n2", 4)}
    assert uncovered(hours, UP, SEEN, 11) == {("n2", 4), (None, 10)}, "nor are days before the journal"
    assert rows(dead_topics(every_topic(spark, [present("dead")], lookups), nowhere, SEEN)) == []


HOURS = Observation(0, 400 * HOUR_US)


def missed(topic: str, hour: float, miss: int, n: int | None = None, ns: str = "n1") -> Row:
    """A row whose interval of a minute began at ``hour``."""
    ts = int(hour * HOUR_US) + 60_000_000
    return {"ns": ns, "ev": "lookup", "ts": ts, "topic": topic, "n": n or miss, "miss": miss, "iv_ms": 60_000}


def test_hours_with_more_misses_than_the_hours_before_them_are_flagged(spark: SparkSession) -> None:
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
    found = missing_topics(hours(frame(spark, EVENTS, records), HOURS), NAMES)
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
