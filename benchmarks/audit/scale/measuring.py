"""One run of the audit with Spark's event log on, and its figures as values that JSON can hold."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from benchmarks.audit.scale.eventlog import SETTINGS, Log, read_log
from benchmarks.audit.scale.figures import of_files, of_log, tables_written
from benchmarks.audit.scale.fleets import Size, written
from benchmarks.audit.scale.plans import Shuffle, broadcasts, shuffles
from benchmarks.audit.watched import Watched
from benchmarks.servers.machine import commit, load_average
from rocketns.pipeline.storage.events.manifest import Manifest
from rocketns.pipeline.storage.session import SHORT_JAVA_OPTIONS

# Planned as for so many cores, and as for frames that are too large to be sent to all executors unasked; each partition
# of a shuffle stays a task of its own. The tasks run on the cores that are there. Without the optimising compiler a run
# of this size takes less CPU, and each event takes more: benchmarks.audit measures CPU time.
CORES = 16
PLANNED: Mapping[str, str] = MappingProxyType(
    {
        "spark.default.parallelism": str(CORES),
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
        "spark.driver.extraJavaOptions": " ".join(SHORT_JAVA_OPTIONS),
    }
)
Row = dict[str, Any]


def measured(size: Size, folder: Path, say: Callable[[str], None]) -> Row:
    """A run below the folder. One that is there already is not repeated, only its log is read again."""
    journal = written(size, folder, say)
    place = folder / f"run-{size}"
    told = place / "run.json"
    if not told.exists():
        say(f"{place.name}: rocketns audit run")
        told.write_text(json.dumps(_run(journal, place)), "utf-8")
    return {"size": list(size), **json.loads(told.read_text("utf-8")), **_read(journal, place)}


def _events(place: Path) -> int:
    """The records that were stored, each once."""
    manifest = Manifest(None, str(place / "out" / "events"))
    state = manifest.state()
    return sum(read.added for read in manifest.reads(state, state.days))


def _run(journal: Path, place: Path) -> Row:
    """What only the run itself tells: when, on which machine state, at what cost."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "log").mkdir(parents=True)
    settings = {**SETTINGS, "spark.eventLog.dir": f"file:{place.resolve()}/log", **PLANNED}
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    load, when = load_average(), f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z"
    command = (sys.executable, "-m", "rocketns", "audit", "run")
    ran = Watched(*command, "--journal", str(journal), "--out", str(place / "out"), *words)
    cost = {"cpu_s": ran.cost.cpu_s, "wall_s": ran.cost.wall_s, "java_mb": ran.cost.java_mb}
    return {
        "when": when, "commit": commit(), "load_before": load, "load_after": load_average(),
        "settings": dict(PLANNED), "cost": cost,
    }  # fmt: skip


def _read(journal: Path, place: Path) -> Row:
    log = read_log(place / "log")
    return {"events": _events(place), "figures": {**of_log(log), **of_files(journal, place / "out")}, **_told(log)}


def _told(log: Log) -> Row:
    return {
        "tables": tables_written(log),
        "shuffles": [_plain(one) for one in shuffles(log)],
        "broadcasts": [one._asdict() for one in broadcasts(log)],
    }


def _plain(shuffle: Shuffle) -> Row:
    filled = shuffle.filled
    return {
        "what": shuffle.what, "keys": shuffle.keys, "count": shuffle.count, "bytes": shuffle.bytes,
        "records": shuffle.records, "partitions": len(shuffle.most), "filled": len(filled),
        "largest": filled[-1] if filled else 0, "middle": median(filled) if filled else 0, "skew": shuffle.skew,
    }  # fmt: skip
