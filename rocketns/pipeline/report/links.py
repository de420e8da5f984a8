"""Which incident a row of a table belongs to, and which rows belong to an incident."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.contract.times import HOUR_US, SECOND_US
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.cards import in_page
from rocketns.pipeline.report.grid import Grid
from rocketns.pipeline.report.model import ReportInput

SLACK_US = 60 * SECOND_US
ROWS_NAMED = 5  # of each table, on a card

Named = tuple[str, Incident]


class Links:
    """Both directions between the tables of a page and its incidents. A row is matched by what it has: a broker or a
    topic, and a time; or a name server's start and end. Without a time it belongs to the worst incident."""

    def __init__(self, data: ReportInput, grids: Iterable[Grid]) -> None:
        self._brokers: defaultdict[str, list[Named]] = defaultdict(list)
        self._topics: defaultdict[str, list[Named]] = defaultdict(list)
        self._servers: defaultdict[str, list[Named]] = defaultdict(list)
        for named in in_page(data):
            self._index(named)
        self._refs = {grid.name: [self._of(row) for row in grid.rows] for grid in grids}

    def refs(self, grid: Grid) -> Sequence[str]:
        """For each row the anchor of its incident, or ''."""
        return self._refs[grid.name]

    def rows(self, grids: Iterable[Grid]) -> Mapping[str, Sequence[tuple[str, Sequence[int], int]]]:
        """By the anchor of an incident: caption of a table, name of the table with the first rows, and how many."""
        by_anchor: defaultdict[str, list[tuple[str, Sequence[int], int]]] = defaultdict(list)
        for grid in grids:
            numbers: defaultdict[str, list[int]] = defaultdict(list)
            for number, anchor in enumerate(self._refs[grid.name], 1):
                if anchor:
                    numbers[anchor].append(number)
            for anchor, given in numbers.items():
                by_anchor[anchor].append((grid.name, given[:ROWS_NAMED], len(given)))
        return by_anchor

    def _index(self, named: Named) -> None:
        _, incident = named
        if incident.kind in NAME_SERVER:
            self._servers[incident.ns[0]].append(named)
        for broker in incident.brokers:
            self._brokers[broker].append(named)
        for topic in dict.fromkeys((*incident.harm.sample, incident.topic)):
            self._topics[topic].append(named)

    def _of(self, row: Row) -> str:
        if row.get("broker") is not None:
            return _best(self._brokers.get(str(row["broker"]), ()), row)
        if row.get("topic") is not None:
            return _best(self._topics.get(str(row["topic"]), ()), row)
        if row.get("end_cause") is not None:
            return _best(self._servers.get(str(row.get("ns")), ()), row)
        return ""


def _best(candidates: Sequence[Named], row: Row) -> str:
    """The incident at the row's time that begins closest to it; the first if the row has no time."""
    span = _span(row)
    if span is None:
        return candidates[0][0] if candidates else ""
    t1, t2 = span
    near = [
        (abs(incident.t1 - t1), anchor)
        for anchor, incident in candidates
        if incident.t1 <= t2 + SLACK_US and incident.t2 >= t1 - SLACK_US
    ]
    return min(near)[1] if near else ""


def _span(row: Row) -> tuple[int, int] | None:
    if row.get("hour") is not None:
        return int(row["hour"]), int(row["hour"]) + HOUR_US
    if row.get("t1") is None or row.get("t2") is None:
        return None
    if row.get("end_cause") is not None:  # what ended is what went wrong
        return int(row["t2"]), int(row["t2"])
    return int(row["t1"]), int(row["t2"])
