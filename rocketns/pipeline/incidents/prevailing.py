"""What each name server said of a key (topic, broker) for most of a window.

A window itself has the values at its beginning. Suppose that a change reaches the first name server, a millisecond
later the second one, and half an hour later the third one. The window begins with the first one against the other two.
For most of it the third one is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rocketns.pipeline.contract.tables import Row

INTERVALS_MAX = 500  # of a key; with more of them the first stretch stands for the window

Value = tuple[Any, ...]  # name server, present, read queues, write queues, permission


def prevailing(window: Row, intervals: Sequence[Row], boots: Mapping[str, Sequence[Row]]) -> list[Row]:
    """As ``values`` of KEY_WINDOWS, of those values that differed for the longest time in all. ``intervals``:
    TOPIC_INTERVALS of the key; ``boots``: NS_UPTIME by name server."""
    lasted: defaultdict[tuple[Value, ...], int] = defaultdict(int)
    if len(intervals) <= INTERVALS_MAX:
        for start, end, values in _stretches(window, intervals, boots):
            if len({value[1:] for value in values}) > 1:
                lasted[values] += end - start
    if not lasted:
        return list(window.get("values") or ())
    longest = max(lasted, key=lambda values: lasted[values])
    return [dict(zip(("ns", "present", "r", "w", "p"), value, strict=True)) for value in longest]


def _stretches(
    window: Row, intervals: Sequence[Row], boots: Mapping[str, Sequence[Row]]
) -> Iterator[tuple[int, int, tuple[Value, ...]]]:
    t1, t2 = int(window["t1"]), int(window["t2"])
    spans = [*intervals, *(row for rows in boots.values() for row in rows)]
    edges = sorted({t1, t2, *(edge for row in spans for edge in (row["t1"], row["t2"]) if t1 < edge < t2)})
    for start, end in pairwise(edges):
        up = sorted(ns for ns, rows in boots.items() if (boot := _holds(rows, start)) and not boot.get("no_topics"))
        yield start, end, tuple(_value(ns, _holds([row for row in intervals if row["ns"] == ns], start)) for ns in up)


def _holds(rows: Sequence[Row], at: int) -> Row | None:
    return next((row for row in rows if row["t1"] <= at < row["t2"]), None)


def _value(ns: str, row: Row | None) -> Value:
    return (ns, False, None, None, None) if row is None else (ns, True, row.get("r"), row.get("w"), row.get("p"))
