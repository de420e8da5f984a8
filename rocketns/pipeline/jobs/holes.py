"""What tells which records are missing: for ``pipeline.boots``, from any number of records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.boots import Boot, Part, Run, Said, boot_of
from rocketns.pipeline.contract.frames import columns, frame_of

# Sequence numbers are checked in stretches of this length. A stretch whose count, smallest, largest and sum fit has no
# hole, so only the other stretches are sorted.
STRETCH = 4096
BOOT = ("ns", "boot")
PIECE = (*BOOT, "dt", "stretch")
PIECES = columns("ns:string boot:long dt:string stretch:long")

Row = Mapping[str, Any]


def boots(events: DataFrame) -> list[Boot]:
    """Each start of a name server, in order."""
    stretches = events.groupBy(*PIECE[:3], _stretch()).agg(*_counted(), *_said()).toArrow().to_pylist()
    odd = [tuple(row[name] for name in PIECE) for row in stretches if not _is_whole(row)]
    pieces = [row for row in stretches if _is_whole(row)] + (_pieces(events, odd) if odd else [])
    said, runs, parts = _by_boot(stretches), _by_boot(pieces), _by_boot(_snapshot_parts(events))
    found = [_boot(key, runs[key], said[key], parts[key]) for key in sorted(said)]
    following = [one.ns for one in found[1:]]
    return [boot._replace(again=boot.ns == after) for boot, after in zip(found, [*following, None], strict=True)]


def _boot(key: tuple[str, int], runs: Sequence[Row], said: Sequence[Row], parts: Sequence[Row]) -> Boot:
    return boot_of(
        *key,
        [Run(*(row[name] for name in Run._fields)) for row in runs],
        reduce(Said.united, (Said(*(row[name] for name in Said._fields)) for row in said)),
        [Part(*(row[name] for name in Part._fields)) for row in parts],
    )


def _by_boot(rows: Iterable[Row]) -> Mapping[tuple[str, int], Sequence[Row]]:
    in_order = sorted(rows, key=itemgetter(*BOOT))
    return defaultdict(list, {key: list(same) for key, same in groupby(in_order, itemgetter(*BOOT))})


def _is_whole(row: Row) -> bool:
    low, high, count = row["low"], row["high"], row["count"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)


def _pieces(events: DataFrame, odd: Sequence[tuple[Any, ...]]) -> list[Row]:
    """What lies between the holes of these stretches."""
    in_order = Window.partitionBy(*PIECE).orderBy("seq")
    begins = F.coalesce(F.col("seq") > F.lag("seq").over(in_order) + 1, F.lit(True)).cast("int")
    numbered = (
        events.select(*PIECE[:3], _stretch(), "seq", "ts")
        .join(F.broadcast(frame_of(events.sparkSession, odd, PIECES)), [*PIECE], "left_semi")
        .withColumn("begins", begins)
        .withColumn("piece", F.sum("begins").over(in_order))
    )
    rows: list[Row] = numbered.groupBy(*PIECE, "piece").agg(*_counted()).toArrow().to_pylist()
    return rows


def _stretch() -> Column:
    return F.expr(f"seq div {STRETCH}").alias("stretch")


def _counted() -> Sequence[Column]:
    return (
        F.count("*").alias("count"), F.sum("seq").alias("sum"), F.min("seq").alias("low"), F.max("seq").alias("high"),
        F.min_by("ts", "seq").alias("low_ts"), F.max_by("ts", "seq").alias("high_ts"),
        F.min("ts").alias("min_ts"), F.max("ts").alias("max_ts"),
    )  # fmt: skip


def _said() -> Sequence[Column]:
    started, watched = F.col("ev") == "start", F.coalesce("observed", F.lit(False))
    with_routes = F.coalesce("restored", F.lit(False)) | watched
    return (
        F.min(F.when(started, F.col("ts"))).alias("start_ts"),
        F.max(F.when(F.col("ev") == "stop", F.coalesce("since", "ts"))).alias("stop_ts"),
        F.max(started & with_routes).alias("restored"),
        F.max(watched | F.col("since").isNotNull()).alias("observed"),
        F.max(F.coalesce("no_topics", F.lit(False))).alias("no_topics"),
    )


def _snapshot_parts(events: DataFrame) -> list[Row]:
    """Of each day's folder."""
    of_end = F.coalesce("end", F.lit(False))
    parts = events.where("ev = 'snap' and snap is not null").groupBy(*BOOT, "dt", "snap")
    rows: list[Row] = (
        parts.agg(
            F.coalesce(F.min("part") == 0, F.lit(False)).alias("first"),
            F.max(F.when(of_end, F.col("seq"))).alias("end_seq"),
            F.max(F.when(of_end, F.col("ts"))).alias("end_ts"),
        )
        .toArrow()
        .to_pylist()
    )
    return rows
