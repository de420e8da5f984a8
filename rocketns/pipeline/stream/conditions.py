"""From the small tables of a batch to conditions: what is wrong, in words for an operator.

The words go to terminals and chats, so names in them are cut, and what cannot be seen is escaped. The details have the
names as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.report.text import plural
from rocketns.pipeline.report.text import short_strict as short
from rocketns.pipeline.stream.changes import Condition
from rocketns.pipeline.stream.servers import Boot, Servers

Row = Mapping[str, Any]


def partition(row: Row) -> Condition:
    """From a row of PARTITIONS."""
    by = ", ".join(row["by"])
    why = "its heartbeat is late" if row["cause"] == "late" else f"dropped: {row['cause']}"
    text = f"{row['ns']} does not hear {short(row['broker'])} at {short(row['addr'])}, but {by} does ({why})"
    details = {name: row[name] for name in ("ns", "cluster", "broker", "bid", "addr", "cause", "by")}
    return Condition("partition", partition_key(row), row["since"], text, details)


def partition_key(row: Row) -> str:
    """One member at one name server."""
    return json.dumps([row[name] for name in ("ns", *MEMBER)])


def partition_of(alert: Alert) -> Row:
    """ns and MEMBER of a partition."""
    return dict(zip(("ns", *MEMBER), json.loads(alert.key), strict=True))


def heard_again(alert: Alert, member: Row | None, others: Iterable[str], servers: Servers) -> str:
    """Why a partition is over; '' if it is not."""
    ns = partition_of(alert)["ns"]
    boot = servers.current().get(ns)
    if boot is None or boot.stopped is not None or boot.boot * 1000 > alert.opened:
        return f"{ns} stopped or restarted"
    if member is not None and member["up"] and member["heard"] > alert.since:
        return "heard again"
    return "" if any(other != ns for other in others) else "gone at the other name servers too"


def divergence(row: Row) -> Condition:
    """From a row of INCIDENTS; ``row["open"]``: whether one of its windows is still open."""
    without = f", {', '.join(row['ns_without'])} without it at first" if row["ns_without"] else ""
    text = (
        f"name servers disagree about {_topics(row)} of {short(row['broker'])} ({row['cause']}{without}): {_some(row)}"
    )
    over = None if row["open"] else (row["t2"], "the name servers agree again")
    names = ("broker", "cause", "topics", "user_topics", "topic_sample", "ns_without", "opened_by")
    key = f"{row['broker']}|{row['cause']}|{row['t1']}"
    return Condition("divergence", key, row["t1"], text, {name: row[name] for name in names}, over)


def _topics(row: Row) -> str:
    """As a run counts them: those of users. The others only if there are no such topics."""
    if row["user_topics"]:
        return plural(row["user_topics"], "user topic")
    return f"{plural(row['topics'], 'topic')} of the system or of consumer groups"


def _some(row: Row) -> str:
    """The sample has users' topics first."""
    return ", ".join(map(short, row["topic_sample"][: row["user_topics"] or None]))


def silences(servers: Servers) -> list[Condition]:
    """Name servers whose journals lag behind."""
    return [_silence(boot) for ns, boot in servers.last().items() if ns in servers.silent]


def _silence(boot: Boot) -> Condition:
    why = "nobody watches it any more" if boot.observed else "it is down"
    text = (
        f"the journal of {boot.ns} ends at {exact_text(boot.last)}: {why}, or its files do not arrive. "
        "What happened there since is not known"
    )
    return Condition("silent", boot.ns, boot.last, text, {"ns": boot.ns})


def kills(servers: Servers, known: Iterable[Boot]) -> list[Condition]:
    """Name servers that started in this batch, without a stop record before. How an observer ended says nothing."""
    before = {(boot.ns, boot.boot) for boot in known}
    killed = []
    for boot, following in zip(servers.boots, servers.boots[1:], strict=False):
        new = (following.ns, following.boot) not in before and following.ns == boot.ns
        if new and boot.stopped is None and not boot.observed:
            last = exact_text(boot.last)
            text = f"{boot.ns} started again without a stop record: its last record before is from {last}"
            over = (following.boot * 1000, "it is up")
            killed.append(Condition("killed", f"{boot.ns}|{boot.boot}", boot.last, text, {"ns": boot.ns}, over))
    return killed


def losses(rows: Iterable[Row], servers: Servers) -> list[Condition]:
    """Records that the journals of this batch lost, and lines that could not be read. Rows: ns, lost, corrupt."""
    return [_loss(row, servers) for row in rows if row["lost"] or row["corrupt"]]


def _loss(row: Row, servers: Servers) -> Condition:
    lost = f"lost {plural(row['lost'], 'record')}" if row["lost"] else ""
    corrupt = f"has {plural(row['corrupt'], 'line')} that could not be read" if row["corrupt"] else ""
    what = " and ".join(filter(None, (lost, corrupt)))
    text = f"the journal of {row['ns']} {what}. Their content is not known"
    return Condition("incomplete", row["ns"], servers.before, text, dict(row), (servers.cut, "reported once"))
