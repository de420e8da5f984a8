"""What goes with one broker or one zone."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.schema import BROKER_INTERVALS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.fleet.blast import blast_radius, sole_topics
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.intervals import Row, frame, rows

END = 100
UP = [{"ns": ns, "boot": 1, "t1": 0, "t2": END, "end_cause": "open"} for ns in ("n1", "n2")]


def member(broker: str, zone: str | None = None, bid: int = 0, t2: int = END, ns: str = "n1") -> Row:
    row = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{bid}", "t1": 0, "t2": t2}
    return row | {"end_cause": "open", "zone": zone}


def held(topic: str, broker: str, w: int = 4, p: int = 6, t2: int = END, ns: str = "n1") -> Row:
    return {"ns": ns, "topic": topic, "broker": broker, "r": w, "w": w, "p": p, "t1": 0, "t2": t2, "end_cause": "open"}


def found(spark: SparkSession, topics: list[Row], members: list[Row]) -> DataFrame:
    brokers = frame(spark, BROKER_INTERVALS, members)
    return sole_topics(
        frame(spark, TOPIC_INTERVALS, topics), brokers, frame(spark, NS_UPTIME, UP), system_topics(brokers)
    )


def test_a_topic_on_one_broker_goes_with_it_and_with_its_zone(spark: SparkSession) -> None:
    members = [member("a", "east"), member("b", "east"), member("c", "west")]
    topics = [held("one", "a"), held("near", "a"), held("near", "b", 8), held("wide", "a"), held("wide", "c")]
    sole = found(spark, topics, members)
    assert rows(sole) == [
        ("broker", "a", "one", "user", True, True, 4),
        ("zone", "east", "near", "user", True, True, 12),
        ("zone", "east", "one", "user", True, True, 4),
    ]
    assert rows(blast_radius(sole)) == [("broker", "a", 1, 1, 4, ["one"]), ("zone", "east", 2, 2, 16, ["near", "one"])]


def test_brokers_that_can_only_be_read_keep_masters_but_no_write_queues(spark: SparkSession) -> None:
    members = [member("a"), member("b"), member("c")]
    topics = [held("t", "a"), held("t", "b", p=4), held("t", "c", w=0), held("still", "b", p=4)]
    assert rows(found(spark, topics, members)) == [
        ("broker", "a", "t", "user", False, True, 4),
        ("broker", "b", "still", "user", True, False, 0),
    ]


def test_only_masters_that_are_listed_at_the_end_count(spark: SparkSession) -> None:
    members = [member("a"), member("b", t2=90), member("b", bid=1), member("c", ns="n2")]
    topics = [held("t", "a"), held("t", "b"), held("u", "a"), held("u", "c", ns="n2"), held("v", "a"),
              held("v", "c", t2=90)]  # fmt: skip
    assert rows(found(spark, topics, members), "name", "topic") == [("a", "t"), ("a", "v")]


def test_a_broker_without_a_zone_survives_each_zone(spark: SparkSession) -> None:
    topics = [held("t", "a"), held("t", "b")]
    assert rows(found(spark, topics, [member("a", "east"), member("b")])) == []


def test_system_topics_are_not_in_the_blast_radius(spark: SparkSession) -> None:
    sole = found(spark, [held("a", "a"), held("%RETRY%g", "a")], [member("a")])
    assert rows(sole, "topic", "kind") == [("%RETRY%g", "retry"), ("a", "system")]
    assert rows(blast_radius(sole)) == []
