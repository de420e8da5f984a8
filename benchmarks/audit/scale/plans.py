"""What the steps of all plans moved: shuffles, and frames that were sent to every executor."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from benchmarks.audit.scale.eventlog import Log, Node, Task

SINGLE = "SinglePartition"
_KEYS = re.compile(r"(\w*[pP]artitioning)\((.*?), \d+\)|(SinglePartition)")
_NUMBERED = re.compile(r"#\d+L?")
# So many tasks are worth a ratio.
FEW = 3


class Shuffle(NamedTuple):
    """One kind of shuffle of a run: what its query writes, and its keys. Sums over all of this kind: ``count``,
    ``bytes`` as written, ``records``. ``most``: the records of each task that read the one with the most records."""

    what: str
    keys: str
    count: int
    bytes: int
    records: int
    most: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.what}: {self.keys}"

    @property
    def filled(self) -> list[int]:
        """The partitions that hold a record, the smallest first."""
        return sorted(filter(None, self.most))

    @property
    def skew(self) -> float | None:
        """The largest partition by the middle one of those that hold a record."""
        return self.filled[-1] / median(self.filled) if len(self.filled) >= FEW else None


class Broadcast(NamedTuple):
    """The largest frame that queries which write ``what`` sent to every executor."""

    what: str
    bytes: int
    rows: int


def shuffles(log: Log) -> list[Shuffle]:
    """Those of a run, the largest first."""
    by_metric = _sums(log.tasks)
    kinds: defaultdict[tuple[str, str], list[tuple[int, int, tuple[int, ...]]]] = defaultdict(list)
    for node in _steps(log, "Exchange"):
        written = _sum(by_metric, node, "shuffle bytes written"), _sum(by_metric, node, "shuffle records written")
        kinds[log.queries[node.query], keys_of(node.text)].append((*written, _read(log, by_metric, node)))
    found = [
        Shuffle(*kind, len(same), sum(one[0] for one in same), sum(one[1] for one in same), max(same, key=_records)[2])
        for kind, same in kinds.items()
    ]
    return sorted(found, key=lambda shuffle: shuffle.bytes, reverse=True)


def _records(one: tuple[int, int, tuple[int, ...]]) -> int:
    return one[1]


def broadcasts(log: Log) -> list[Broadcast]:
    """Those of a run, the largest first."""
    largest: dict[str, Broadcast] = {}
    for node in _steps(log, "BroadcastExchange"):
        size, rows = (log.counted.get(node.metrics[name], 0) for name in ("data size", "number of output rows"))
        what = log.queries[node.query]
        largest[what] = max(largest.get(what, Broadcast(what, 0, 0)), Broadcast(what, size, rows))
    return sorted(largest.values(), key=lambda one: one.bytes, reverse=True)


def keys_of(text: str) -> str:
    """The keys of a shuffle, without the numbers of columns."""
    found = _KEYS.search(text)
    if found is None:
        return text.split(",")[0]
    return found[3] or _NUMBERED.sub("", found[2] if found[1] == "hashpartitioning" else f"{found[1]}({found[2]})")


def _steps(log: Log, name: str) -> Iterable[Node]:
    """Each step of that name once, also if several plans of a query show it."""
    return {tuple(sorted(node.metrics.values())): node for node in log.nodes.values() if node.name == name}.values()


Sums = Mapping[int, Mapping[int, list[int]]]


def _sums(tasks: Iterable[Task]) -> Sums:
    """By metric and stage: what each task added."""
    found: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        for metric, added in task.updates.items():
            found[metric][task.stage].append(added)
    return found


def _sum(sums: Sums, node: Node, metric: str) -> int:
    return sum(map(sum, sums.get(node.metrics.get(metric, -1), {}).values()))


def _read(log: Log, sums: Sums, node: Node) -> tuple[int, ...]:
    """The records that each task of the first stage that reads the shuffle took from it; 0 for those without any."""
    by_stage = sums.get(node.metrics.get("records read", -1), {})
    if not by_stage:
        return ()
    stage = min(by_stage)
    others = sum(task.stage == stage for task in log.tasks) - len(by_stage[stage])
    return (*by_stage[stage], *[0] * others)
