"""A month of streaming on the journals' clock: what each day costs, and what it leaves behind, in one process.

The files of a synthetic fleet arrive some hours at a time, and each arrival is one look of the stream, as it is made
every few seconds in real time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from pyspark.sql import SparkSession

from benchmarks.audit.nightly import cpu_seconds
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.cli.spark import LOCAL, QUIET, SMALL_BATCHES
from rocketns.pipeline.storage.alertlog import AlertLog
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.session import spark_session
from rocketns.pipeline.storage.statestore import StateStore
from rocketns.pipeline.stream.follow import Follower, Outlets
from rocketns.pipeline.stream.step import SCHEMAS, Limits
from rocketns.pipeline.synthetic import Faults, FleetSpec, make_fleet

DAY_S, HOUR_S = 86_400, 3600
BROKERS, TOPICS = 8, 40


def fleet(days: int, hours: int) -> FleetSpec:
    """A small fleet with a file for each arrival, and a fault about every day."""
    faults = Faults().times(days / 10)._replace(bursts=0, typos=0, corrupt_lines=0, grown=0, dead_topics=0)
    faults = faults._replace(lost_changes=1, changes=1, holes=0, drops=0, hidden_changes=0)
    return replace(
        FleetSpec(), brokers=BROKERS, topics=TOPICS, seconds=days * DAY_S, rotate_s=hours * HOUR_S, faults=faults
    )


def measured(folder: Path, days: int, hours: int, say: Progress) -> list[dict[str, Any]]:
    """A row for each day."""
    spec = fleet(days, hours)
    make_fleet(spec, folder / "all", say)
    journal, out = folder / "journal", folder / "out"
    journal.mkdir()
    passed_on = {"spark.local.dir": str(folder / "spark")}
    spark = spark_session("local[*]", settings=QUIET | LOCAL | SMALL_BATCHES | passed_on)
    follower = follower_of(spark, journal, out)
    rows = []
    for day, arrivals in groupby(arrivals_of(folder / "all", spec, hours), lambda one: one[0]):
        cpu = cpu_seconds()
        took = [timed(follower, journal, folder / "all", files) for _, files in arrivals]
        costs = {"batch_s": round(median(took), 2), "batch_cpu_s": round((cpu_seconds() - cpu) / len(took), 2)}
        rows.append({"day": day + 1, "batches": len(took)} | costs | left(spark, folder))
        say(json.dumps(rows[-1]))
    spark.stop()
    return rows


def follower_of(spark: SparkSession, journal: Path, out: Path) -> Follower:
    """The stream's batches, with its defaults."""
    outlets = Outlets(AlertLog(out / "alerts.jsonl"), None, None)
    store = StateStore(spark, f"{out}/checkpoint/memory", SCHEMAS)
    return Follower(spark, folder_at(spark, str(journal)), store, outlets, Limits(), lambda _: None, {})


def arrivals_of(every: Path, spec: FleetSpec, hours: int) -> Iterator[tuple[int, list[Path]]]:
    """The day and the files of each arrival, by the time of their first record."""
    found = sorted((began_s(path) - spec.start_ms // 1000, path) for path in every.rglob("*.jsonl"))
    for arrival, files in groupby(found, lambda one: max(one[0], 0) // (hours * HOUR_S)):
        yield arrival * hours * HOUR_S // DAY_S, [path for _, path in files]


def began_s(path: Path) -> int:
    with path.open() as file:
        return int(json.loads(file.readline())["ts"]) // 1_000_000


def timed(follower: Follower, journal: Path, every: Path, files: list[Path]) -> float:
    """Seconds for one arrival."""
    for path in files:
        place = journal / path.relative_to(every)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, place)
    began = time.monotonic()
    follower.go_on()
    return time.monotonic() - began


def left(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """What the day left in the processes and on disk; Java's heap after a collection."""
    checkpoint = [path for path in (folder / "out" / "checkpoint").rglob("*") if path.is_file()]
    shuffles = sum(len(files) for _, _, files in os.walk(folder / "spark"))
    python = psutil.Process()
    java = next(child for child in python.children(recursive=True) if child.name().startswith("java"))
    return {
        "files": len(checkpoint), "checkpoint_kb": round(sum(path.stat().st_size for path in checkpoint) / 1000),
        "shuffle_files": shuffles,
        "python_mb": round(python.memory_info().rss / 1e6, 1), "java_mb": round(java.memory_info().rss / 1e6),
        "heap_mb": heap_mb(spark),
    }  # fmt: skip


def heap_mb(spark: SparkSession) -> float:
    view: Any = spark.sparkContext._jvm
    view.java.lang.System.gc()
    runtime = view.java.lang.Runtime.getRuntime()
    return round((runtime.totalMemory() - runtime.freeMemory()) / 1e6, 1)
