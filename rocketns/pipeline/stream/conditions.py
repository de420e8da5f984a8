"""From the small tables of a batch to conditions: what is wrong, in words for an operator.

The words are in the language of the stream. They go to terminals and chats, so names in them are cut, and what cannot
be seen is escaped. The details have the names as they are, and are the same in every language.

Compares current conditions with open alerts: which are new, and which are over. Plain values, no Spark.

The name of an alert is made from its condition and the watermark at which it opened. So it opens once and closes once,
and a condition that comes back later is another alert.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import exact_text
from rocketns.pipeline.jobs.state import Boot
from rocketns.pipeline.report.text import number, row
from rocketns.pipeline.report.text import short_strict as short
from rocketns.pipeline.saying import _
from rocketns.pipeline.stream.memory import Servers
from rocketns.pipeline.stream.outlets import Line


def partition(found: Row) -> Condition:
    """From a row of PARTITIONS."""
    shown = {"ns": found["ns"], "broker": short(found["broker"]), "addr": short(found["addr"]), "by": row(found["by"])}
    shown["cause"] = _("its heartbeat is late") if found["cause"] == "late" else found["cause"]
    text = _("%(ns)s does not hear %(broker)s at %(addr)s, but %(by)s does (%(cause)s)") % shown
    details = {name: found[name] for name in ("ns", "cluster", "broker", "bid", "addr", "cause", "by")}
    return Condition("partition", partition_key(found), found["since"], text, details)


def partition_key(found: Row) -> str:
    """One member at one name server."""
    return json.dumps([found[name] for name in ("ns", *MEMBER)])


def heard_again(alert: Line, member: Row | None, others: Iterable[str], servers: Servers) -> str:
    """Why a partition is over; '' if it is not."""
    ns = alert["ns"]
    boot = servers.current().get(ns)
    if boot is None or boot.stop_ts is not None or exact_text(boot.boot * 1000) > alert["at"]:
        return _("%(ns)s stopped or restarted") % {"ns": ns}
    if member is not None and member["up"] and exact_text(member["heard"]) > alert["since"]:
        return _("heard again")
    return "" if any(other != ns for other in others) else _("gone at the other name servers too")


def divergence(found: Row) -> Condition:
    """From a row of DIVERGENCES; ``found["open"]``: whether one of its windows is still open."""
    why = found["cause"]
    if found["ns_without"]:
        why = _("%(cause)s, %(servers)s without it at first") % {"cause": why, "servers": row(found["ns_without"])}
    users, others = found["user_topics"], found["topics"]
    topics = (
        _.plural("%(n)s user topic", "%(n)s user topics", users) % {"n": number(users)} if users else
        _.plural("%(n)s topic of the system or of consumer groups",
                 "%(n)s topics of the system or of consumer groups", others) % {"n": number(others)}
    )  # fmt: skip
    some = row(map(short, found["topic_sample"][: users or None]))  # it has users' topics first
    text = _("name servers disagree about %(topics)s of %(broker)s (%(cause)s): %(some)s") % {
        "topics": topics, "broker": short(found["broker"]), "cause": why, "some": some
    }  # fmt: skip
    over = None if found["open"] else (found["t2"], _("the name servers agree again"))
    names = ("broker", "cause", "topics", "user_topics", "topic_sample", "ns_without", "opened_by", "orphaned", "twice")
    details = {name: found[name] for name in names if name in found}
    return Condition("divergence", divergence_key(found), found["t1"], text + _of_queues(details), details, over)


def divergence_key(found: Row) -> str:
    """Of a row of DIVERGENCES, which stays the same while the incident goes on."""
    return f"{found['broker']}|{found['cause']}|{found['t1']}"


def _of_queues(details: Row) -> str:
    """What consumers do meanwhile, if that is known and anything."""
    none, two = details.get("orphaned", 0), details.get("twice", 0)
    if not none and not two:
        return ""
    shown = {
        "none": _.plural("%(n)s queue has no consumer", "%(n)s queues have no consumer", none) % {"n": number(none)},
        "two": _.plural("%(n)s is consumed twice", "%(n)s are consumed twice", two) % {"n": number(two)},
    }
    return _(". At worst %(none)s, and %(two)s") % shown


def silences(servers: Servers) -> list[Condition]:
    """Name servers whose journals lag behind."""
    said = _("the journal of %(ns)s ends at %(time)s: it is down, nobody watches it any more, or its files do not "
             "arrive. What happened there since is not known")  # fmt: skip
    return [
        Condition("silent", boot.ns, boot.last, said % {"ns": boot.ns, "time": exact_text(boot.last)}, {"ns": boot.ns})
        for boot in servers.boots
        if boot.ns in servers.silent and not boot.again
    ]


def kills(servers: Servers, known: Iterable[Boot]) -> list[Condition]:
    """Name servers that started in this batch, without a stop record before. How an observer ended says nothing."""
    before = {(boot.ns, boot.boot) for boot in known}
    killed = []
    for boot, following in zip(servers.boots, servers.boots[1:], strict=False):
        new = (following.ns, following.boot) not in before and following.ns == boot.ns
        if new and boot.stop_ts is None and not boot.observed:
            shown = {"ns": boot.ns, "time": exact_text(boot.last)}
            text = _("%(ns)s started again without a stop record: its last record before is from %(time)s") % shown
            over = (following.boot * 1000, _("it is up"))
            killed.append(Condition("killed", f"{boot.ns}|{boot.boot}", boot.last, text, {"ns": boot.ns}, over))
    return killed


def losses(rows: Iterable[Row], servers: Servers) -> list[Condition]:
    """Records that the journals of this batch lost, and lines that could not be read. Rows: ns, lost, corrupt."""
    over = (servers.watermark, _("reported once"))
    said = _("the journal of %(ns)s lacks what is not known: %(lost)s records were lost, and %(corrupt)s lines could "
             "not be read")  # fmt: skip
    return [
        Condition("incomplete", found["ns"], servers.before, said % found, dict(found), over)
        for found in rows
        if found["lost"] or found["corrupt"]
    ]


class Condition(NamedTuple):
    """Something wrong at a watermark. ``over``: when and why it ended, if it did so since the last one. ``details`` go
    into the alert's line as they are."""

    kind: str
    key: str
    since: int
    text: str
    details: Mapping[str, Any]
    over: tuple[int, str] | None = None


class Changes(NamedTuple):
    """The lines of a batch, and those with which the alerts opened that stay open."""

    lines: list[Line]
    open: list[Line]


def changes(
    opened: Iterable[Line], conditions: Iterable[Condition], reasons: Mapping[str, str], watermark: int
) -> Changes:
    """The lines of a batch. An open alert without a condition is over. ``reasons``: by key, why it is over; the reason
    '' keeps it open."""
    by_key = {(condition.kind, condition.key): condition for condition in conditions}
    lines, still = [], []
    for alert in opened:
        condition = by_key.pop((alert["kind"], alert["key"]), None)
        reason = reasons.get(alert["key"])
        if condition and condition.over:
            lines.append(_closed(alert, *condition.over))
        elif condition or reason == "":
            still.append(alert)
        else:
            lines.append(_closed(alert, watermark, reason or _("over")))
    for condition in by_key.values():
        alert = _opened(condition, watermark)
        lines.append(alert)
        if condition.over:
            lines.append(_closed(alert, *condition.over))
        else:
            still.append(alert)
    return Changes(lines, still)


def _opened(condition: Condition, watermark: int) -> Line:
    kind, key, since, text, details, _over = condition
    name = hashlib.sha256(f"{kind}|{key}|{watermark}".encode()).hexdigest()[:16]
    times = {"at": exact_text(watermark), "since": exact_text(since)}
    return {"alert": name, "event": "open", "kind": kind, "key": key, **times, "text": text, **details}


def _closed(alert: Line, at: int, reason: str) -> Line:
    same = {name: alert[name] for name in ("alert", "event", "kind", "key", "at", "since", "text")}
    return {**same, "event": "close", "at": exact_text(at), "reason": reason}
