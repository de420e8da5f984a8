"""Stretches of time for the timelines, as plain numbers, no finer than can be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rocketns.pipeline.contract.causes import FAILURES, NAME_SERVER_ENDED, OBSERVED, STILL_OPEN
from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report.model import ReportInput

BINS = 450  # stretches closer to each other than this fraction of the observation are drawn as one

Span = tuple[int, int]


@dataclass(frozen=True)
class Bar:
    """A stretch: left edge and width in per cent, its state for the style sheet, what a tooltip says."""

    left: float
    width: float
    state: str
    tip: str


@dataclass
class BrokerRow:
    """One broker at one name server: when it was up, when it was gone after a failure, without one, or for a cause that
    is not visible from outside (``unseen``), when views of its topics differed."""

    label: str
    up: list[Span] = field(default_factory=list)
    failed: list[Span] = field(default_factory=list)
    down: list[Span] = field(default_factory=list)
    unseen: list[Span] = field(default_factory=list)
    differ: list[Span] = field(default_factory=list)
    events: int = 0


def broker_rows(data: ReportInput, ns: str) -> list[BrokerRow]:
    """The rows of one name server, the most eventful first."""
    differ = incidents_of_brokers(data)
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in data["broker_intervals"].rows:
        if row["ns"] == ns:
            groups[str(row["broker"]), int(row["bid"])].append(row)
    rows = [_broker_row(data, key, some, differ.get(key[0], [])) for key, some in sorted(groups.items())]
    return sorted(rows, key=lambda row: -row.events)


def incidents_of_brokers(data: ReportInput) -> dict[str, list[Span]]:
    """For each broker the stretches in which views of its topics differed."""
    found: dict[str, list[Span]] = defaultdict(list)
    for row in data["incidents"].rows:
        if row.get("doubt") is None:
            found[str(row["broker"])].append((int(row["t1"]), int(row["t2"])))
    return found


def down_spans(data: ReportInput, ns: str) -> list[Span]:
    """When a name server itself was down, wrote nothing or was not watched, within the observation."""
    up = sorted((int(r["t1"]), int(r["t2"])) for r in data["ns_uptime"].rows if r["ns"] == ns)
    edges = [data.t0, *(edge for span in up for edge in span), data.t1]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def merged(spans: Iterable[Span], t0: int, t1: int, bins: int = BINS) -> list[Span]:
    """Cut to [t0, t1), sorted, at least one bin long, close ones joined: at most ``bins`` of them."""
    least = max(1, (t1 - t0) // bins)
    result: list[Span] = []
    for start, end in sorted((max(a, t0), min(b, t1)) for a, b in spans if b > t0 and a < t1):
        end = max(end, start + least)
        if result and start - result[-1][1] < least:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def _broker_row(data: ReportInput, key: tuple[str, int], intervals: Sequence[Row], differ: list[Span]) -> BrokerRow:
    ordered = sorted(intervals, key=lambda row: (row["t1"], row["t2"]))
    row = BrokerRow(f"{key[0]}:{key[1]}", differ=differ, events=len(differ))
    starts = [int(r["t1"]) for r in ordered[1:]] + [data.t1]
    for interval, following in zip(ordered, starts, strict=True):
        row.up.append((int(interval["t1"]), int(interval["t2"])))
        _gone(row, str(interval["end_cause"]), (int(interval["t2"]), following))
    return row


def _gone(row: BrokerRow, end_cause: str, gap: Span) -> None:
    """Sort in the stretch after an interval. The end of a name server says nothing about its brokers."""
    if end_cause == STILL_OPEN or end_cause in NAME_SERVER_ENDED:
        return
    row.events += 1
    if gap[1] > gap[0]:
        spans = row.failed if end_cause in FAILURES else row.unseen if end_cause in OBSERVED else row.down
        spans.append(gap)


def is_watched(data: ReportInput, ns: str) -> bool:
    """Whether a name server was watched from outside."""
    return any(row["ns"] == ns and row.get("observed") for row in data["ns_uptime"].rows)
