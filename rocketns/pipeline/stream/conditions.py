"""From the small tables of a batch to the conditions that alerts are about, in words that an operator understands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rocketns.pipeline.stream.changes import Alert, Condition, moment
from rocketns.pipeline.stream.members import MEMBER
from rocketns.pipeline.stream.servers import Boot, Fleet

Row = Mapping[str, Any]


def partition(row: Row) -> Condition:
    """From a row of PARTITIONS."""
    by = ", ".join(row["by"])
    why = "its heartbeat is late" if row["cause"] == "late" else f"given up: {row['cause']}"
    text = f"{row['ns']} does not hear {row['broker']} at {row['addr']}, which {by} hears ({why})"
    details = {name: row[name] for name in ("ns", "cluster", "broker", "bid", "addr", "cause", "by")}
    return Condition("partition", partition_key(row), row["since"], text, details)


def partition_key(row: Row) -> str:
    """One member at one name server."""
    return json.dumps([row[name] for name in ("ns", *MEMBER)])


def partition_of(alert: Alert) -> Row:
    """ns and MEMBER of a partition."""
    return dict(zip(("ns", *MEMBER), json.loads(alert.key), strict=True))


def heard_again(alert: Alert, member: Row | None, others: Iterable[str], fleet: Fleet) -> str:
    """Why a partition is over: '' if it is not."""
    ns = partition_of(alert)["ns"]
    boot = fleet.current().get(ns)
    if boot is None or boot.stopped is not None or boot.boot * 1000 > alert.opened:
        return f"{ns} stopped or started anew"
    if member is not None and member["up"] and member["heard"] > alert.since:
        return "heard again"
    return "" if any(other != ns for other in others) else "gone from the other name servers too"


def divergence(row: Row) -> Condition:
    """From a row of INCIDENTS; ``row["open"]``: whether a window of it is."""
    without = f", {', '.join(row['ns_without'])} without it" if row["ns_without"] else ""
    some = ", ".join(row["topic_sample"])
    text = f"name servers disagree about {row['topics']} topics of {row['broker']} ({row['cause']}{without}): {some}"
    over = None if row["open"] else (row["t2"], "the name servers agree again")
    names = ("broker", "cause", "topics", "topic_sample", "ns_without", "opened_by")
    key = f"{row['broker']}|{row['cause']}|{row['t1']}"
    return Condition("divergence", key, row["t1"], text, {name: row[name] for name in names}, over)


def silences(fleet: Fleet) -> list[Condition]:
    """Name servers whose journals lag."""
    return [_silence(boot) for ns, boot in fleet.last().items() if ns in fleet.silent]


def _silence(boot: Boot) -> Condition:
    text = (
        f"the journal of {boot.ns} ends at {moment(boot.last)}: it is down, or its files do not arrive; what happened "
        "there since is not known"
    )
    return Condition("silent", boot.ns, boot.last, text, {"ns": boot.ns})


def kills(fleet: Fleet, known: Iterable[Boot]) -> list[Condition]:
    """Name servers that started again without having stopped, in this batch."""
    before = {(boot.ns, boot.boot) for boot in known}
    found = []
    for boot, following in zip(fleet.boots, fleet.boots[1:], strict=False):
        new = (following.ns, following.boot) not in before and following.ns == boot.ns
        if new and boot.stopped is None:
            text = f"{boot.ns} started again without having stopped: its last record before is of {moment(boot.last)}"
            over = (following.boot * 1000, "it is up")
            found.append(Condition("killed", f"{boot.ns}|{boot.boot}", boot.last, text, {"ns": boot.ns}, over))
    return found


def losses(rows: Iterable[Row], fleet: Fleet) -> list[Condition]:
    """Records that this batch's journals say they lost, and lines that could not be read. Rows: ns, lost, corrupt."""
    return [_loss(row, fleet) for row in rows if row["lost"] or row["corrupt"]]


def _loss(row: Row, fleet: Fleet) -> Condition:
    text = (
        f"the journal of {row['ns']} lost {row['lost']} records and has {row['corrupt']} lines that could not be read: "
        "what they told is not known"
    )
    return Condition("incomplete", row["ns"], fleet.before, text, dict(row), (fleet.cut, "told once"))
