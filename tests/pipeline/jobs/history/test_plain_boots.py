"""Missing records and the snapshots at which state begins: the same from the plain reader and from Spark."""

from __future__ import annotations

import random

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.jobs.history import holes as spark_holes
from tests.pipeline.journals import Journals, events_frame, random_journals, told_of
from tests.support.profile import new_seed

SEED = new_seed()


def thinned() -> Journals:
    """Random journals that lost records in some places."""
    journals: Journals = {}
    for seed in range(SEED, SEED + 10):
        chance = random.Random(seed)
        for ns, records in random_journals(seed).items():
            at = chance.sample(range(len(records)), 3) if chance.random() < 0.8 else []
            lost = {place + more for place in at for more in range(chance.randint(1, 20))}
            journals[f"{seed}-{ns}"] = [one for place, one in enumerate(records) if place not in lost]
    return journals


def rows(frame: DataFrame, *names: str) -> set[tuple[object, ...]]:
    return {tuple(row) for row in frame.select("ns", "boot", *names).collect()}


def test_the_plain_reader_finds_the_holes_and_snapshots_of_spark(spark: SparkSession) -> None:
    journals = thinned()
    events = events_frame(spark, journals)
    runs = spark_holes.runs(events, spark_holes.stretches(events)).cache()
    lost, boots = spark_holes.holes(runs), spark_holes.boots(runs)
    whole = spark_holes.whole_snapshots(spark_holes.snapshot_parts(events), lost)
    needed = spark_holes.needed_snapshots(boots, whole, lost)
    found = told_of(journals, "T").boots()
    note = f"replay: ROCKETNS_SEED={SEED} python -m pytest {__file__}"
    holes = {(one.ns, one.boot, hole.after, hole.until) for one in found for hole in one.holes}
    assert holes == rows(lost, "after", "until"), note
    snapshots = {(one.ns, one.boot, *snapshot) for one in found for snapshot in one.snapshots}
    assert snapshots == rows(needed, "snap", "end_seq", "end_ts"), note
    assert holes, note
    assert snapshots, note
