"""``python -m benchmarks.audit.nightly [NIGHT …]``: what a nightly run costs in these nights of a journal that grows by
a day each night, in CPU and wall time, and with ``--whole`` what a run over everything costs in the last of them.

A tenth of a fleet of 1.7 million records a day: 20 brokers, 500 topics, 3 name servers. All runs are in one Spark
session, so they do not pay for its start. The journal ends at midnight each night, which is too early to close the day.
So a measured night reads two days, and the night before closed the others.
With ``--folder`` the journal and what runs left of it stay there, so that a later call measures later nights.
With ``--busy`` the fleet is smaller (12 brokers, 300 topics) and has some thirty faults a day.
With ``--last N`` each run is for the last N days, as with ``rocketns audit run --days N``.
With ``--jobs`` no two jobs run at the same time, and a line for each night tells the CPU seconds of each job.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.batch import run as batch
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.spark import LOCAL, QUIET
from rocketns.pipeline.contract.times import DAY_US, exact_text
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.session import spark_session
from rocketns.pipeline.synthetic import Faults, FleetSpec, make_fleet

NIGHTS = (1, 2, 10, 20, 30)
DAY_S = 86_400


class Cost(NamedTuple):
    """Seconds."""

    cpu: float
    wall: float


def fleet(days: int) -> FleetSpec:
    """A tenth of the large fleet."""
    faults = (
        Faults().times(0.2 * days)._replace(restarts=days // 5, kills=days // 10, bursts=0, typos=0, corrupt_lines=0)
    )
    return replace(FleetSpec.large(days * DAY_S), brokers=20, topics=500, groups=3, faults=faults)


def busy_fleet(days: int) -> FleetSpec:
    """A small fleet where much goes wrong."""
    faults = (
        Faults()
        .times(1.5 * days)
        ._replace(
            restarts=days // 5, kills=days // 10, bursts=0, typos=0, corrupt_lines=0, holes=0, drops=0, hidden_changes=0
        )
    )
    return replace(
        FleetSpec.large(days * DAY_S), brokers=12, topics=300, heartbeat_s=60, groups=3, lookup_s=3600, faults=faults
    )


class Watched(Results):
    """Results that tell what each job cost, where they are computed one after another. The time between two jobs counts
    for the second one."""

    costs: dict[str, float]
    last = 0.0

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        kept = super().save(name, frame)
        now = cpu_seconds()
        Watched.costs[name], Watched.last = now - Watched.last, now
        return kept


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.nightly", description=__doc__)
    parser.add_argument("nights", nargs="*", type=int, default=NIGHTS, help="nights to measure (default: 1 2 10 20 30)")
    parser.add_argument("--days", type=int, default=30, help="days of the journal (default: 30)")
    parser.add_argument("--folder", type=Path, help="keep the journal and the results there")
    parser.add_argument("--last", type=int, metavar="N", help="audit the last N days only")
    parser.add_argument("--whole", action="store_true", help="measure a run over everything too")
    parser.add_argument("--busy", action="store_true", help="a smaller fleet with some thirty faults a day")
    parser.add_argument("--jobs", action="store_true", help="tell what each job costs")
    options = parser.parse_args()
    if options.jobs:
        batch.AT_ONCE, batch.Results = 1, Watched  # type: ignore[misc]
    nights = sorted(set(options.nights))
    with tempfile.TemporaryDirectory(prefix="rocketns-nightly-") as name:
        folder = options.folder or Path(name)
        spec = written(folder, (busy_fleet if options.busy else fleet)(options.days), options.days)
        measured(folder, spec, nights, last=options.last, whole=options.whole)


def written(folder: Path, spec: FleetSpec, days: int) -> FleetSpec:
    """The fleet whose journal is in the folder, after this call at the latest."""
    if not (folder / "all").exists():
        truth = make_fleet(spec, folder / "new", _say)
        records = sum(server["records"] for server in truth["name_servers"])
        print(f"{records:,} records in {days} days, {records // days:,} a day", flush=True)
        (folder / "new").rename(folder / "all")
    return spec


def measured(folder: Path, spec: FleetSpec, nights: list[int], *, last: int | None, whole: bool) -> None:
    """Nights in their order, each after a run that closed the days before it."""
    spark = spark_session("local[2]", settings=QUIET | LOCAL, short=True)
    print("| Night | Days closed before | CPU s | Wall s |\n|---:|---:|---:|---:|", flush=True)
    journal = folder / "journal"
    for night in nights:
        if night > 1:
            bring(folder / "all", journal, spec, night - 1)
            run(spark, journal, folder / "out", days=last)
        bring(folder / "all", journal, spec, night)
        _tell(night, max(night - 2, 0), run(spark, journal, folder / "out", days=last))
    if whole:
        _tell(nights[-1], 0, run(spark, journal, folder / "whole", whole=True))


def bring(every: Path, journal: Path, spec: FleetSpec, days: int) -> None:
    """Copy the files of the first days."""
    for day in range(days):
        place = f"v=1/dt={exact_text(spec.start_ms * 1000 + day * DAY_US)[:10]}"
        if not (journal / place).exists():
            shutil.copytree(every / place, journal / place, copy_function=os.link)


def run(spark: SparkSession, journal: Path, out: Path, **asked: Any) -> Cost:
    """One audit in this process. ``asked``: further fields of the request."""
    cpu, began = cpu_seconds(), time.monotonic()
    Watched.costs, Watched.last = {}, cpu
    audit(spark, Request(str(journal), str(out), **asked), _say)
    return Cost(cpu_seconds() - cpu, time.monotonic() - began)


def cpu_seconds() -> float:
    """Of this process and those below it, Java's among them."""
    root = psutil.Process()
    times: Iterable[tuple[float, ...]] = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return sum(user + system for user, system, *_ in times)


def _tell(night: int, closed: int, cost: Cost) -> None:
    print(f"| {night} | {closed} | {cost.cpu:.0f} | {cost.wall:.0f} |", flush=True)
    if Watched.costs:
        told = Watched.costs | {"the rest": cost.cpu - sum(Watched.costs.values())}
        print(", ".join(f"{name} {cpu:.1f}" for name, cpu in told.items()), flush=True)


def _say(text: str) -> None:
    print(f"{time.monotonic():10.1f} {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
