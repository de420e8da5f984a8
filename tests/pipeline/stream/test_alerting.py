"""Alerts over batches of arriving records: opened once, closed once, however the journals were cut; in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.defaults import EVERY_US
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.storage.held import held_if_small
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
from tests.pipeline.whole import WINDOW, whole_windows


class Follower:
    """Takes parts of journals as batches and keeps every line."""

    def __init__(self, spark: SparkSession, limits: Limits) -> None:
        self.spark, self.limits = spark, limits
        self.memory = Memory({name: frame_of(spark, [], schema) for name, schema in SCHEMAS.items()})
        self.lines: list[dict[str, Any]] = []

    def take(self, part: Journals) -> list[dict[str, Any]]:
        """The lines of one batch."""
        after: dict[str, DataFrame] = {}

        def keep(name: str, frame: DataFrame) -> DataFrame:
            changed = frame is not self.memory.tables[name]
            after[name] = held_if_small(frame.select(*SCHEMAS[name].names)) if changed else frame
            return after[name]

        events = events_frame(self.spark, part).withColumn("corrupt", F.lit(False))
        told, memory = step(self.memory, events, self.limits, keep, hold=held_if_small)
        assert set(after) == set(SCHEMAS)
        self.memory = Memory.of(after, json.loads(json.dumps(memory.plain())))
        self.lines += told
        return told


def contents(memory: Memory) -> dict[str, Any]:
    """Everything in it, tables as sorted rows."""
    return {name: sorted(map(str, frame.collect())) for name, frame in memory.tables.items()} | memory.plain()


def test_the_worked_example_opens_and_closes_a_partition_and_a_divergence(spark: SparkSession) -> None:
    """A batch that is made again, as after a crash, comes to the same lines and memory."""
    follower = Follower(spark, Limits())
    before, early, down, after = cut_at(worked_example(), [100, 123, 220, 340])
    said = [follower.take(before), follower.take(early)]
    memory = follower.memory
    said.append(follower.take(down))
    was = contents(follower.memory)
    follower.memory = memory
    assert (follower.take(down), contents(follower.memory)) == (said[-1], was)
    said.append(follower.take(after))
    events = [[(line["event"], line["kind"]) for line in lines] for lines in said]
    assert events == [
        [],
        [("open", "partition")],
        [("open", "divergence")],
        [("close", "partition"), ("close", "divergence")],
    ]
    opened, diverged, *closed = [line for lines in said for line in lines]
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


def test_windows_are_those_of_a_whole_run_however_the_journals_are_cut(spark: SparkSession) -> None:
    journals = random_journals(11, start_us=0, seconds=1800)
    follower = Follower(spark, Limits(min_window=0, silent_after=10**12))
    found = set()
    for part in cut_at(journals, [400, 900, 901, 10_000]):
        follower.take(part)
        found |= {tuple(row) for row in follower.memory.tables["windows"].select(*WINDOW).collect()}
    cut = follower.memory.watermark
    assert cut is not None
    ended = {window for window in found if window[3] is not None}
    start = observed(journals)[0]
    assert ended == {window for window in whole_windows(spark, journals, start, cut) if window[3] < cut}
    assert len(ended) > 20


def test_a_change_at_the_moment_of_a_watermark_is_reported_with_its_cause(spark: SparkSession) -> None:
    """The last record of n2 that has arrived is the one by which it drops broker-b, and n1 was read further."""
    follower = Follower(spark, Limits())
    until = {"n1": 212, "n2": 186}
    early = {ns: [record for record in records if record["ts"] < until[ns] * SECOND]
             for ns, records in worked_example().items()}  # fmt: skip
    late = {ns: records[len(early[ns]) :] for ns, records in worked_example().items()}
    told = [*follower.take(early), *follower.take(late)]
    (opened,) = [line for line in told if (line["event"], line["kind"]) == ("open", "divergence")]
    assert (opened["cause"], opened["opened_by"], opened["ns_without"]) == ("expired", ["n2"], ["n2"])
    assert opened["since"] == exact_text(185 * SECOND)


class Fleet(NamedTuple):
    """Ten brokers whose heartbeats are spread over the period, from ``start_s`` on; n2 does not hear the last one from
    ``cut_s`` on, which n1 does. ``within_s``: from the first lost heartbeat to the alert."""

    name: str
    start_s: int
    cut_s: int
    within_s: int


def staggered(period: int, fleets: Sequence[Fleet], until: int) -> Journals:
    """The records of two name servers about the fleets."""
    journals = {ns: Journal(0, ns) for ns in ("n1", "n2")}
    members = [(fleet, number, Broker(f"{fleet.name}-{number}", f"10.0.{at}.{number}:10911"))
               for at, fleet in enumerate(fleets) for number in range(10)]  # fmt: skip
    for second in range(1, until):
        for fleet, number, broker in members:
            first = fleet.start_s + 1 + number * period // 10
            if second < first or (second - first) % period:
                continue
            for ns, journal in journals.items():
                if (ns, number) == ("n2", 9) and second >= fleet.cut_s:
                    continue
                if second == first:
                    journal.register(second * SECOND, broker, [topic("T")])
                else:
                    journal.heartbeat(second * SECOND, broker)
    return {ns: journal.records for ns, journal in journals.items()}


LOOK_S = EVERY_US // SECOND
WRITTEN_S, BATCH_S = 1, 2  # journalFsyncMs, and the time that a batch may take


@pytest.mark.parametrize(
    ("period", "lost_s", "fleets"),
    [
        (10, 120, (Fleet("old", 0, 111, 15), Fleet("new", 100, 111, 18))),
        (30, 118, (Fleet("old", 0, 118, 15), Fleet("new", 60, 89, 15))),
    ],
    ids=["every 10 s", "every 30 s"],
)
def test_a_partition_is_alerted_soon_after_the_first_heartbeat_that_was_lost(
    spark: SparkSession, period: int, lost_s: int, fleets: tuple[Fleet, ...]
) -> None:
    """Open files are followed. Heartbeats of the last brokers come at 10, 20, … s, or at 28, 58, … s. That of
    ``lost_s`` is lost; in the new fleet it is the first one after the registration."""
    follower, waited = Follower(spark, Limits()), {f"{fleet.name}-9": fleet.within_s for fleet in fleets}
    ends = [lost_s, *range(lost_s + 5, lost_s + 60, LOOK_S)]
    for end, part in zip(ends, cut_at(staggered(period, fleets, 200), ends), strict=True):
        for line in follower.take(part):
            assert (line["event"], line["kind"], line["ns"]) == ("open", "partition", "n2")
            # A look may come just before the record that decides.
            assert end + WRITTEN_S + BATCH_S - lost_s <= waited.pop(line["broker"])
        if not waited:
            break
    assert waited == {}
