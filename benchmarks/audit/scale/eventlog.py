"""Spark's event log as plain values: tasks, plans, and what the driver counted. The log is JSON Lines, uncompressed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# As the driver starts a run; one file, which a crash leaves readable.
SETTINGS = {
    "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
}  # fmt: skip
DRIVER, EVENTS = "the driver", "events"
_SQL = "org.apache.spark.sql.execution.ui."
_WRITES = "InsertIntoHadoopFsRelationCommand"
_PATH = re.compile(r"file:([^,\s]+)")
_RUN = r"\d{8}T\d{6}-[0-9a-f]{8}"
_PLACE = re.compile(rf"/(results|work|earlier)/{_RUN}/(\w+)|/(events)/data/")


class Task(NamedTuple):
    """A task that ended well. Times s, sizes bytes. ``updates``: what it added to each metric of a plan, by its id."""

    stage: int
    began: float
    ended: float
    cpu: float
    gc: float
    memory: int
    spilled: int
    read: int
    read_records: int
    written: int
    written_records: int
    shuffle_read: int
    shuffle_written: int
    result: int
    updates: Mapping[int, int]


class Node(NamedTuple):
    """A step of a query's plan. ``metrics``: their ids by name."""

    query: int
    name: str
    text: str
    metrics: Mapping[str, int]


@dataclass
class Log:
    """``queries``: the folder that each writes to, or DRIVER; ``nodes``: by the ids of their metrics; ``counted``: the
    metrics that the driver counted; ``stage_query``: which query a stage is of."""

    tasks: list[Task] = field(default_factory=list)
    queries: dict[int, str] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    counted: dict[int, int] = field(default_factory=dict)
    stage_query: dict[int, int] = field(default_factory=dict)

    def what(self, stage: int) -> str:
        """What the stage's query writes."""
        return self.queries.get(self.stage_query.get(stage, -1), DRIVER)


def read_log(folder: Path) -> Log:
    """The log of the one run whose log is in the folder."""
    log = Log()
    for event in _events(folder):
        name = event["Event"].removeprefix(_SQL)
        if name in _READERS:
            _READERS[name](log, event)
    return log


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    (path,) = [path for path in folder.iterdir() if not path.name.startswith(".")]
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _job(log: Log, event: Mapping[str, Any]) -> None:
    query = (event.get("Properties") or {}).get("spark.sql.execution.id")
    if query is not None:
        log.stage_query |= dict.fromkeys(event["Stage IDs"], int(query))


def _task(log: Log, event: Mapping[str, Any]) -> None:
    info, told = event["Task Info"], event.get("Task Metrics")
    if event["Task End Reason"]["Reason"] != "Success" or told is None:
        return
    read = told["Shuffle Read Metrics"]
    log.tasks.append(
        Task(
            event["Stage ID"], info["Launch Time"] / 1e3, info["Finish Time"] / 1e3,
            told["Executor CPU Time"] / 1e9, told["JVM GC Time"] / 1e3,
            told["Peak Execution Memory"], told["Disk Bytes Spilled"],
            told["Input Metrics"]["Bytes Read"], told["Input Metrics"]["Records Read"],
            told["Output Metrics"]["Bytes Written"], told["Output Metrics"]["Records Written"],
            read["Remote Bytes Read"] + read["Local Bytes Read"],
            told["Shuffle Write Metrics"]["Shuffle Bytes Written"], told["Result Size"],
            {one["ID"]: int(one["Update"]) for one in info["Accumulables"] if _is_of_a_plan(one)},
        )
    )  # fmt: skip


def _is_of_a_plan(one: Mapping[str, Any]) -> bool:
    return one.get("Metadata") == "sql" and re.fullmatch(r"-?\d+", str(one.get("Update"))) is not None


def _query(log: Log, event: Mapping[str, Any]) -> None:
    log.queries[event["executionId"]] = place_of(event["physicalPlanDescription"])
    _plan(log, event)


def _plan(log: Log, event: Mapping[str, Any]) -> None:
    """Also of a plan that was changed while it ran."""
    waiting = [event["sparkPlanInfo"]]
    while waiting:
        info = waiting.pop()
        waiting += info["children"]
        metrics = {one["name"]: one["accumulatorId"] for one in info["metrics"]}
        node = Node(event["executionId"], info["nodeName"], info["simpleString"], metrics)
        log.nodes |= dict.fromkeys(metrics.values(), node)


def _counted(log: Log, event: Mapping[str, Any]) -> None:
    log.counted |= dict(event["accumUpdates"])


_READERS = {
    "SparkListenerJobStart": _job, "SparkListenerTaskEnd": _task, "SparkListenerSQLExecutionStart": _query,
    "SparkListenerSQLAdaptiveExecutionUpdate": _plan, "SparkListenerDriverAccumUpdates": _counted,
}  # fmt: skip


def place_of(plan: str) -> str:
    """What a plan writes: the name of a result table, ``events``, ``work`` or ``earlier NAME``; DRIVER if it writes
    nothing. ``plan``: its description, which explains each step after the tree of steps."""
    _, writes, explained = plan.rpartition(_WRITES)
    path = _PATH.search(explained) if writes else None
    place = _PLACE.search(path[1]) if path else None
    if place is None:
        return DRIVER
    return {"results": place[2], "work": "work", "earlier": f"earlier {place[2]}"}.get(place[1], EVENTS)
