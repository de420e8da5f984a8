"""Keys that moved to other queues."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.fleet.ordered import ordered_keys
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.draws import seeds
from tests.pipeline.duck.fleet import ordered as duck
from tests.pipeline.duck.query import query, same
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

END = 1000


def held(broker: str, t1: float, t2: float = END, w: int = 4, topic: str = "t", ns: str = "n1", p: int = 6) -> Row:
    row = {"ns": ns, "topic": topic, "broker": broker, "r": w, "w": w, "p": p, "cause": "register"}
    return row | {"t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": "open"}


def found(spark: SparkSession, topics: list[Row], events: list[Row] = []) -> DataFrame:  # noqa: B006
    names = system_topics(frame(spark, BROKER_INTERVALS, []))
    return ordered_keys(frame(spark, TOPIC_INTERVALS, topics), frame(spark, EVENTS, events), names)


def test_twice_the_queues_on_two_brokers_move_three_of_four_keys(spark: SparkSession) -> None:
    """a0-3 b0-3 → a0-7 b0-7: hashes 0 to 3 of 16 stay."""
    topics = [held("a", 0, 500), held("b", 0, 500), held("a", 500, w=8), held("b", 500, w=8)]
    assert rows(found(spark, topics)) == [
        ("t", "user", False, 1, ["n1"], 0.75, 500 * SECOND, 8, 16, "a", 500 * SECOND, 500 * SECOND),
    ]


def test_a_broker_that_goes_and_returns_moves_keys_twice(spark: SparkSession) -> None:
    """Of 24 hashes: a0-3 b0-3 c0-3 against two of the three brokers; n = 12, m = 8, g = 4, so every position fits."""
    topics = [held(broker, 0, topic=gone) for gone in "abc" for broker in "abc" if broker != gone]
    topics += [held(gone, *span, topic=gone) for gone in "abc" for span in ((0, 300), (400, END))]
    names = ("broker", "steps", "moved_max", "at", "n_before", "n_after", "t1", "t2")
    moved = (2, pytest.approx(1 - 8 / 24), 300 * SECOND, 12, 8, 300 * SECOND, 400 * SECOND)
    assert rows(found(spark, topics), "topic", *names) == [(gone, gone, *moved) for gone in "abc"]


def test_a_broker_that_goes_and_returns_every_day_is_judged_once(spark: SparkSession) -> None:
    """It makes six steps of two kinds. The earliest of a kind is named, and the last one of all."""
    away = [300, 500, 700]
    stays = zip([0, *[t + 100 for t in away]], [*away, END], strict=True)
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame)
        return frame

    names = system_topics(frame(spark, BROKER_INTERVALS, []))
    topics = frame(spark, TOPIC_INTERVALS, [held("a", 0), *[held("b", t1, t2) for t1, t2 in stays]])
    steps = ordered_keys(topics, frame(spark, EVENTS, []), names, keep)
    assert rows(steps, "steps", "at", "t1", "t2") == [(6, 300 * SECOND, 300 * SECOND, 800 * SECOND)]
    assert [frame.count() for frame in kept] == [2]


def test_another_order_of_as_many_queues_moves_all_keys(spark: SparkSession) -> None:
    """broker-a with 2 and b with 2 become b with 2 and c with 2: b's queues are first now, and a's keys are c's."""
    topics = [held("a", 0, 500, 2), held("b", 0, w=2), held("c", 500, w=2)]
    assert rows(found(spark, topics), "moved_max", "n_before", "n_after") == [(1.0, 4, 4)]


def test_what_not_every_producer_saw_read_queues_and_empty_lists_do_not_count(spark: SparkSession) -> None:
    """A route is away for a while, another broker can only be read, and the read queues change."""
    topics = [held("a", 0, 300), held("a", 400, 500), held("a", 500) | {"r": 9}, held("b", 0, 600, p=4)]
    for name, lasted in (("short", 29.999), ("seen", 30)):
        spans = ((0, 300), (300 + lasted, END))
        topics += [held("a", 0, topic=name), *[held("b", *span, topic=name) for span in spans]]
    assert rows(found(spark, topics), "topic", "steps") == [("seen", 2)]


def test_a_topic_with_an_order_configuration_is_marked_and_steps_are_those_of_one_name_server(
    spark: SparkSession,
) -> None:
    kv = [{"ns": "n1", "ev": "kv", "ns_key": "ORDER_TOPIC_CONFIG", "key": "t", "val": "a:4"},
          {"ns": "n1", "ev": "kv", "ns_key": "OTHER", "key": "u", "val": "a:4"},
          {"ns": "n1", "ev": "kv", "ns_key": "ORDER_TOPIC_CONFIG", "key": "u", "val": None}]  # fmt: skip
    topics = [held("a", 0, topic=topic, ns=ns) for topic in "tu" for ns in ("n1", "n2")]
    topics += [held("b", at, topic=topic, ns=ns) for topic in "tu" for ns, at in (("n1", 300), ("n2", 301))]
    assert rows(found(spark, topics, kv), "topic", "ordered", "steps", "ns") == [
        ("t", True, 1, ["n1", "n2"]), ("u", False, 1, ["n1", "n2"]),
    ]  # fmt: skip


def test_queue_counts_of_a_hostile_broker_are_no_trouble(spark: SparkSession) -> None:
    topics = [held("a", 0, w=2**31 - 1), held("b", 300, w=2**31 - 2)]
    (row,) = rows(found(spark, topics), "moved_max", "n_before", "n_after")
    assert row == (pytest.approx(1.0), 2**31 - 1, 2**32 - 3)


@pytest.mark.parametrize("seed", seeds(0))
def test_spark_and_duckdb_agree(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    topics = []
    for topic in "tuvwxy":
        for broker in "abcd":
            cuts = sorted(chance.sample(range(0, END, 15), 6))
            topics += [
                held(broker, t1, t2, chance.randint(1, 6), topic, chance.choice(("n1", "n2")), chance.choice((6, 6, 4)))
                for t1, t2 in zip(cuts[::2], cuts[1::2], strict=True)
            ]
    frames = {"topic_intervals": frame(spark, TOPIC_INTERVALS, topics), "events": frame(spark, EVENTS, []),
              "broker_intervals": frame(spark, BROKER_INTERVALS, [])}  # fmt: skip
    ours = rows(found(spark, topics))
    assert len(ours) > 3
    # ns_uptime is only named in a part of the common tables that is not used here
    theirs = query(duck.SQL.format(t0=0, t1=END), ns_uptime=frame(spark, TOPIC_INTERVALS, topics), **frames)
    assert same(ours, theirs)
