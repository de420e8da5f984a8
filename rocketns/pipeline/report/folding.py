"""Incidents of several brokers with the same cause and time, joined into one line.

A restarted name server causes one incident per broker; the page shows one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocketns.pipeline.contract.tables import Row

APART_US = (
    10_000_000  # counted from the first incident of the line, so that frequent incidents do not become one endless line
)


def folded(incidents: Sequence[Row]) -> list[Row]:
    """Rows of ``incidents`` with ``brokers`` for ``broker``, in the order of t1."""
    groups: list[list[Row]] = []
    for row in sorted(incidents, key=lambda row: (row["cause"] or "", row["t1"], row["broker"])):
        if groups and _belongs(groups[-1][0], row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return sorted((_one(group) for group in groups), key=lambda row: (row["t1"], row["cause"] or ""))


def _belongs(first: Row, row: Row) -> bool:
    return bool(first["cause"] == row["cause"] and row["t1"] - first["t1"] <= APART_US)


def _one(group: Sequence[Row]) -> Row:
    return {
        "cause": group[0]["cause"],
        "t1": min(row["t1"] for row in group),
        "t2": max(row["t2"] for row in group),
        "brokers": sorted({str(row["broker"]) for row in group}),
        "ns_without": _united(row.get("ns_without") for row in group),
        "stalled": _united(row.get("stalled") for row in group),
        "opened_by": _united(row.get("opened_by") for row in group),
        "topic_sample": _united(row.get("topic_sample") for row in group),
        # a topic may be on several brokers, so the topics of several rows cannot be added
        "topics": group[0].get("topics") if len(group) == 1 else None,
        "user_topics": group[0].get("user_topics") if len(group) == 1 else None,
        "windows": sum(row.get("windows") or 0 for row in group),
        "longest": max((row.get("longest") or 0 for row in group), default=0),
        "doubt": group[0].get("doubt") if len({row.get("doubt") for row in group}) == 1 else None,
        "gap_max": max((row["gap_max"] for row in group if row.get("gap_max") is not None), default=None),
    }


def _united(lists: Iterable[Iterable[str] | None]) -> list[str]:
    return sorted({name for names in lists for name in names or ()})
