"""The figures of one run, from its event log and from the files that it left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.audit.scale.eventlog import DRIVER, Log, Task

# What is shown, in this order: name, and words with the unit. Sums unless they say otherwise.
WORDS = {
    "journal_files": "files of the journal",
    "journal_mb": "the journal, MB",
    "events_files": "files of events (Parquet)",
    "events_mb": "events (Parquet), MB",
    "manifest_mb": "manifest of files, MB",
    "results_files": "files of results (Parquet)",
    "results_mb": "results (Parquet), MB",
    "earlier_mb": "kept for later runs, MB",
    "read_mb": "read by tasks, MB",
    "read_records": "records read by tasks",
    "shuffle_written_mb": "written to shuffles, MB",
    "shuffle_read_mb": "read from shuffles, MB",
    "spilled_mb": "spilled to disk, MB",
    "stages": "stages",
    "tasks": "tasks",
    "queries": "queries",
    "task_cpu_s": "CPU time of tasks, s",
    "gc_s": "garbage collection in tasks, s",
    "cpu_s": "CPU time of all processes, s",
    "idle_s": "time in which no task ran, s",
    "wall_s": "time of the whole run, s",
    "collected_mb": "results of tasks to the driver, MB",
    "most_collected_mb": "the largest result of one query to the driver, MB",
    "task_memory_mb": "most memory of one task, MB",
    "java_mb": "most memory of the Java process, MB",
}
# What does not add up, or depends on what else the machine does.
MOST = ("most_collected_mb", "task_memory_mb", "java_mb", "task_cpu_s", "gc_s", "idle_s", "wall_s", "cpu_s")
MB = 1e6


def of_log(log: Log) -> dict[str, float]:
    """What tasks did."""
    tasks = log.tasks
    return {
        "stages": len({task.stage for task in tasks}),
        "tasks": len(tasks),
        "queries": len(log.queries),
        "task_cpu_s": sum(task.cpu for task in tasks),
        "gc_s": sum(task.gc for task in tasks),
        "idle_s": idle(tasks),
        "read_mb": sum(task.read for task in tasks) / MB,
        "read_records": sum(task.read_records for task in tasks),
        "shuffle_written_mb": sum(task.shuffle_written for task in tasks) / MB,
        "shuffle_read_mb": sum(task.shuffle_read for task in tasks) / MB,
        "spilled_mb": sum(task.spilled for task in tasks) / MB,
        "task_memory_mb": max(task.memory for task in tasks) / MB,
    } | _collected(log)


def _collected(log: Log) -> dict[str, float]:
    """By query: what its tasks sent to the driver beside what they wrote."""
    sizes: dict[int, int] = {}
    for task in log.tasks:
        if log.what(task.stage) == DRIVER:
            query = log.stage_query.get(task.stage, -1)
            sizes[query] = sizes.get(query, 0) + task.result
    return {"collected_mb": sum(sizes.values()) / MB, "most_collected_mb": max(sizes.values(), default=0) / MB}


def idle(tasks: Sequence[Task]) -> float:
    """Seconds between the first and the last task in which none ran: planning, listing, the driver's own work."""
    spans = sorted((task.began, task.ended) for task in tasks)
    reached, found = spans[0][0], 0.0
    for began, ended in spans:
        found += max(0.0, began - reached)
        reached = max(reached, ended)
    return found


def tables_written(log: Log) -> list[dict[str, Any]]:
    """By what is written: rows and bytes."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for task in log.tasks:
        if task.written_records:
            found[log.what(task.stage)].update(rows=task.written_records, bytes=task.written)
    return [{"what": what, **sums} for what, sums in sorted(found.items())]


def of_files(journal: Path, out: Path) -> dict[str, float]:
    """What is on disk after a run."""
    found = {
        "journal": _sizes(journal.rglob("*.jsonl")),
        "events": _sizes((out / "events" / "data").rglob("*.parquet")),
        "manifest": _sizes((out / "events" / "manifest").rglob("*.json")),
        "results": _sizes((out / "results").rglob("*.parquet")),
        "earlier": _sizes((out / "earlier").rglob("*.parquet")),
    }
    files = {f"{name}_files": float(len(found[name])) for name in ("journal", "events", "results")}
    return files | {f"{name}_mb": sum(sizes) / MB for name, sizes in found.items()}


def _sizes(paths: Iterable[Path]) -> list[int]:
    return [path.stat().st_size for path in paths]
