"""Compares current conditions with open alerts: which are new, and which are over. Plain values, no Spark.

The name of an alert is made from its condition and the watermark at which it opened. So it opens once and closes once,
and a condition that comes back later is another alert.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.saying import _


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
    """The lines of a batch, and the alerts that stay open."""

    lines: list[dict[str, Any]]
    open: list[Alert]


def changes(
    opened: Iterable[Alert], conditions: Iterable[Condition], reasons: Mapping[str, str], watermark: int
) -> Changes:
    """The lines of a batch. An open alert without a condition is over. ``reasons``: by key, why it is over; the reason
    '' keeps it open."""
    by_key = {(condition.kind, condition.key): condition for condition in conditions}
    lines, still = [], []
    for alert in opened:
        condition = by_key.pop((alert.kind, alert.key), None)
        reason = _reason(condition, reasons.get(alert.key))
        if reason is None:
            still.append(alert)
        else:
            at = condition.over[0] if condition and condition.over else watermark
            lines.append(_line(alert, "close", at, {"reason": reason}))
    for condition in by_key.values():
        alert = Alert(
            _name(condition, watermark), condition.kind, condition.key, condition.since, watermark, condition.text
        )
        lines.append(_line(alert, "open", watermark, condition.details))
        if condition.over:
            lines.append(_line(alert, "close", condition.over[0], {"reason": condition.over[1]}))
        else:
            still.append(alert)
    return Changes(lines, still)


def _reason(condition: Condition | None, reason: str | None) -> str | None:
    """Why an open alert is over; None if it is not."""
    if condition is not None:
        return condition.over[1] if condition.over else None
    return None if reason == "" else reason or _("over")


def _name(condition: Condition, watermark: int) -> str:
    return hashlib.sha256(f"{condition.kind}|{condition.key}|{watermark}".encode()).hexdigest()[:16]


def _line(alert: Alert, event: str, at: int, details: Mapping[str, Any]) -> dict[str, Any]:
    head = {
        "alert": alert.alert,
        "event": event,
        "kind": alert.kind,
        "key": alert.key,
        "at": exact_text(at),
        "since": exact_text(alert.since),
    }
    return {**head, "text": alert.text, **details}
