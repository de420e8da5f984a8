"""Alerts over batches of arriving records: opened once, closed once, however the journals were cut; in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.contract.defaults import EVERY_US
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.stream.step import SCHEMAS, Limits, Memory, step
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
from tests.pipeline.parts import cut_at
from tests.pipeline.whole import whole_windows


@pytest.fixture(autouse=True)
def interpreted(spark: SparkSession) -> Iterator[None]:
    """The settings of a stream: compiling plans takes longer than such batches."""
    before = {name: spark.conf.get(name) for name in SMALL_BATCHES}
    for name, value in SMALL_BATCHES.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value or "")


class Follower:
    """Takes parts of journals as batches and keeps every line."""

    def __init__(self, spark: SparkSession, limits: Limits) -> None:
        self.spark, self.limits = spark, limits
        self.memory = Memory({name: spark.createDataFrame([], schema) for name, schema in SCHEMAS.items()})
        self.lines: list[dict[str, Any]] = []

    def take(self, part: Journals) -> list[dict[str, Any]]:
        """The lines of one batch."""
        after: dict[str, DataFrame] = {}

        def keep(name: str, frame: DataFrame) -> DataFrame:
            after[name] = self.spark.createDataFrame(frame.select(*SCHEMAS[name].names).collect(), SCHEMAS[name])
            return after[name]

        events = events_frame(self.spark, part).withColumn("corrupt", F.lit(False))
        told, memory = step(self.memory, events, self.limits, keep)
        assert set(after) == set(SCHEMAS)
        self.memory = Memory.of(after, json.loads(json.dumps(memory.plain())))
        self.lines += told
        return told


def contents(memory: Memory) -> dict[str, Any]:
    """Everything in it, tables as sorted rows."""
    return {name: sorted(map(str, frame.collect())) for name, frame in memory.tables.items()} | memory.plain()


def test_the_worked_example_opens_and_closes_a_partition_and_a_divergence(spark: SparkSession) -> None:
    follower = Follower(spark, Limits())
    said = [follower.take(part) for part in cut_at(worked_example(), [100, 123, 190, 220, 340, 400])]
    events = [[(line["event"], line["kind"]) for line in lines] for lines in said]
    assert events == [
        [],
        [("open", "partition")],
        [],
        [("open", "divergence")],
        [("close", "partition"), ("close", "divergence")],
        [],
    ]
    opened, diverged, *closed = follower.lines
    assert (opened["ns"], opened["broker"], opened["by"], opened["since"]) == (
        "n2",
        "broker-b",
        ["n1"],
        exact_text(62 * SECOND),
    )
    # The first heartbeat that n2 missed was due at 92 s.
    assert opened["at"] == exact_text(121 * SECOND)
    assert (diverged["since"], diverged["topics"], diverged["ns_without"]) == (exact_text(185 * SECOND), 1, ["n2"])
    assert [line["reason"] for line in closed] == ["heard again", "the name servers agree again"]
    assert closed[1]["at"] == exact_text(302 * SECOND)


def test_the_same_batch_comes_to_the_same_lines_and_memory(spark: SparkSession) -> None:
    first, second = cut_at(worked_example(), [123, 220])
    follower = Follower(spark, Limits())
    follower.take(first)
    before = follower.memory
    lines = follower.take(second)
    after = contents(follower.memory)
    follower.memory = before
    assert (follower.take(second), contents(follower.memory)) == (lines, after)


@pytest.mark.parametrize("seed", [3, 11])
def test_windows_are_those_of_a_whole_run_however_the_journals_are_cut(spark: SparkSession, seed: int) -> None:
    journals = random_journals(seed, start_us=0, seconds=900)
    follower = Follower(spark, Limits(min_window=0, silent_after=10**12))
    found = set()
    for part in cut_at(journals, [200, 450, 451, 10_000]):
        follower.take(part)
        found |= {
            tuple(row) for row in follower.memory.tables["windows"].select("topic", "broker", "t1", "t2").collect()
        }
    cut = follower.memory.cut
    assert cut is not None
    ended = {window for window in found if window[3] is not None}
    start = observed(journals)[0]
    assert ended == {window for window in whole_windows(spark, journals, start, cut) if window[3] < cut}


def staggered(period: int, cut_s: int, until: int) -> Journals:
    """Two name servers and ten brokers whose heartbeats are spread over the period; n2 does not hear the last one from
    ``cut_s`` on, which n1 does."""
    journals = {ns: Journal(0, ns) for ns in ("n1", "n2")}
    brokers = [Broker(f"broker-{i}", f"10.0.0.{i}:10911") for i in range(10)]
    for second in range(1, until):
        for number, broker in enumerate(brokers):
            first = 1 + number * period // 10
            if second >= first and (second - first) % period == 0:
                for ns, journal in journals.items():
                    if ns == "n2" and number == 9 and second >= cut_s:
                        continue
                    if second == first:
                        journal.register(second * SECOND, broker, [topic("T")])
                    else:
                        journal.heartbeat(second * SECOND, broker)
    return {ns: journal.records for ns, journal in journals.items()}


LOOK_S = EVERY_US // SECOND
WRITTEN_S, BATCH_S = 1, 2  # journalFsyncMs, and the time that a batch may take


@pytest.mark.parametrize(
    ("period", "cut_s", "lost_s", "within_s"),
    [(10, 111, 120, 15), (30, 118, 118, 15), (10, 11, 20, 18), (30, 29, 58, 15)],
    ids=["every 10 s", "every 30 s", "every 10 s, just registered", "every 30 s, just registered"],
)
def test_a_partition_is_alerted_soon_after_the_first_heartbeat_that_was_lost(
    spark: SparkSession, period: int, cut_s: int, lost_s: int, within_s: int
) -> None:
    """Open files are followed. The broker's heartbeats come at 10, 20, … s, or at 28, 58, … s."""
    follower = Follower(spark, Limits())
    ends = [cut_s, *range(lost_s + 5, lost_s + 60, LOOK_S)]
    slots = zip(ends, cut_at(staggered(period, cut_s, 200), ends), strict=True)
    end, told = next((end, told) for end, part in slots if (told := follower.take(part)))
    assert [(line["event"], line["kind"], line["ns"], line["broker"]) for line in told] == [
        ("open", "partition", "n2", "broker-9")
    ]
    # A look may come just before the record that decides.
    assert end + WRITTEN_S + BATCH_S - lost_s <= within_s
