"""``python -m benchmarks.audit.scale OUT``: how what an audit moves grows with days and with brokers.

Journals of five sizes are made below OUT and audited with Spark's event log on, planned as for 16 cores. What is below
OUT already is not made again, so a run that was stopped goes on. 9 million events: half an hour of a core and 5 GB of
disk.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import linear_regression
from typing import Any, NamedTuple

from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.storage.events.manifest import Manifest
from rocketns.pipeline.storage.session import SHORT_JAVA_OPTIONS
from rocketns.pipeline.synthetic import Faults, FleetSpec, make_fleet

DAY_S = 86_400
MILLION = MB = 1e6
# In four days 20 brokers have the faults of the demo; multiples of both have multiples of the faults.
PART_DAYS, PART_BROKERS = 4, 20
TOPICS_PER_BROKER, GROUPS_PER_PART = 25, 3
CORES = 16
# One log file that a crash leaves readable; partitions that are not joined; no frame sent to all executors unasked.
SETTINGS = {
    "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
    "spark.default.parallelism": CORES, "spark.sql.shuffle.partitions": CORES,
    "spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": -1,
    "spark.sql.adaptive.autoBroadcastJoinThreshold": -1, "spark.driver.extraJavaOptions": " ".join(SHORT_JAVA_OPTIONS),
}  # fmt: skip


class Size(NamedTuple):
    """What a fleet is made of. Everything else grows with it."""

    days: int
    brokers: int


BASE = Size(PART_DAYS, PART_BROKERS)
DIRECTIONS = {"days": (BASE, Size(8, 20), Size(16, 20)), "brokers": (BASE, Size(4, 40), Size(4, 80))}


def fleet(size: Size) -> FleetSpec:
    """Name servers restart with the days only. The default rotation of the journal."""
    parts, stages = size.brokers // PART_BROKERS, size.days // PART_DAYS
    faults = Faults()
    faults = faults.times(stages * parts)._replace(
        restarts=stages, kills=stages, bursts=0, typos=0, corrupt_lines=0, dead_topics=faults.dead_topics * parts,
        pollers=parts, lone_topics=parts, zone_topics=parts, grown=faults.grown * parts,
    )  # fmt: skip
    return replace(
        FleetSpec.large(size.days * DAY_S), brokers=size.brokers, topics=TOPICS_PER_BROKER * size.brokers,
        groups=GROUPS_PER_PART * parts, faults=faults,
    )  # fmt: skip


def moved(events: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """What the tasks of an event log did, by words with the unit."""
    found: Counter[str] = Counter()
    for event in events:
        told = event.get("Task Metrics")
        if event["Event"] == "SparkListenerTaskEnd" and told is not None:
            found["tasks"] += 1
            found["read by tasks, MB"] += told["Input Metrics"]["Bytes Read"] / MB
            found["records read by tasks"] += told["Input Metrics"]["Records Read"]
            found["written to shuffles, MB"] += told["Shuffle Write Metrics"]["Shuffle Bytes Written"] / MB
            found["spilled to disk, MB"] += told["Disk Bytes Spilled"] / MB
    return found


def slope(events: Sequence[float], values: Sequence[float]) -> tuple[float, float, float]:
    """The line by least squares: at no event, for a million more, and how far a value is off as a part of the most."""
    a_million, start = linear_regression([number / MILLION for number in events], values)
    off = max(abs(start + a_million * number / MILLION - value) for number, value in zip(events, values, strict=True))
    return start, a_million, off / (max(map(abs, values)) or 1)


def measured(size: Size, folder: Path) -> Counter[str]:
    """A run below the folder, made once."""
    place = folder / f"{size.days}x{size.brokers}"
    journal, log = place / "journal", place / "log"
    if not journal.exists():
        make_fleet(fleet(size), place / "new", Progress(time.monotonic))
        (place / "new").rename(journal)
    if not (place / "out" / "summary.json").exists():
        log.mkdir(exist_ok=True)
        for old in log.iterdir():
            old.unlink()
        conf = [f"--conf={key}={value}" for key, value in {**SETTINGS, "spark.eventLog.dir": log.resolve()}.items()]
        command = (sys.executable, "-m", "rocketns", "audit", "run", "--journal", journal, "--out", place / "out")
        subprocess.run([*map(str, command), *conf], check=False)  # ends with 1 where there are findings
    (events,) = log.iterdir()
    with events.open(encoding="utf-8") as lines:
        found = moved(map(json.loads, lines))
    manifest = Manifest(None, str(place / "out" / "events"))
    state = manifest.state()
    found["events"] = sum(read.added for read in manifest.reads(state, state.days))
    found["files of the journal"] = sum(1 for _ in journal.rglob("*.jsonl"))
    found["the journal, MB"] = int(sum(path.stat().st_size for path in journal.rglob("*.jsonl")) / MB)
    return found


def main(folder: Path) -> None:
    """Measure, and print a Markdown table for each direction."""
    for direction, sizes in DIRECTIONS.items():
        runs = [measured(size, folder) for size in sizes]
        events = [float(run["events"]) for run in runs]
        sizes_shown = " | ".join(f"{number:,.0f} events" for number in events)
        print(f"\n| by {direction} | {sizes_shown} | at 0 | a million more | off by | a billion |\n|---|{'---:|' * 7}")
        for what in sorted(set().union(*runs) - {"events"}):
            start, more, off = slope(events, [float(run[what]) for run in runs])
            values = " | ".join(f"{run[what]:,.0f}" for run in runs)
            print(f"| {what} | {values} | {start:,.0f} | {more:,.0f} | {off:.0%} | {start + more * 1000:,.0f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
