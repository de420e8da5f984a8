"""What an operator should know at once: the reasons why the name server, or its fleet, is not well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocketns.admin.api.copies import Brokers
from rocketns.admin.api.rows import Level, ReasonRow
from rocketns.admin.recent.ring import Recorded
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import FleetState

REASONS_MAX = 20
NAMES_MAX = 5
LOST_WITHIN_MS = 10 * 60_000
STALLED_WITHIN_MS = 10 * 60_000
DAY_MS = 86_400_000
CERTIFICATE_DAYS = 14  # as the alert rule CertificateEnds
LEVELS: tuple[Level, ...] = ("ok", "attention", "critical")
NOUNS = {FactKind.BROKER: "broker", FactKind.TOPIC: "topic", FactKind.ORDER: "the order configuration of"}
LOST_CAUSES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")


def worst(reasons: Sequence[ReasonRow]) -> Level:
    """The level of the worst reason."""
    return max((one.level for one in reasons), key=LEVELS.index, default="ok")


@dataclass(frozen=True, slots=True)
class Own:
    """What is true of this name server itself. ``journal_losing``: records lost since its buffer became full.

    ``certificate_ends_ms`` is of the wall clock; None if TLS was not used yet.
    """

    not_ready: str | None = None
    journal_failing: bool = False
    journal_losing: int = 0
    certificate_ends_ms: int | None = None


def assess(
    own: Own, brokers: Brokers, recent: Sequence[Recorded], fleet: FleetState, now_ms: int
) -> tuple[ReasonRow, ...]:
    """The reasons, the worst first. ``now_ms`` is of the wall clock."""
    reasons = _of_itself(own, now_ms)
    if not brokers.rows:
        reasons.append(ReasonRow("critical", "No broker is registered"))
    if brokers.masterless:
        reasons.append(ReasonRow("critical", f"No master: {_names(brokers.masterless)}"))
    reasons += _of_brokers(brokers)
    reasons += _of_recent(brokers, recent, now_ms)
    reasons += _of_fleet(fleet)
    reasons.sort(key=lambda one: -LEVELS.index(one.level))
    return tuple(reasons[:REASONS_MAX])


def _of_itself(own: Own, now_ms: int) -> list[ReasonRow]:
    reasons = []
    if own.not_ready is not None:
        reasons.append(ReasonRow("critical", f"This name server is not ready: {own.not_ready}"))
    if own.journal_failing:
        reasons.append(ReasonRow("attention", "The journal cannot be written: the log says why"))
    if own.journal_losing:
        reasons.append(ReasonRow("attention", f"The journal's buffer is full: {own.journal_losing:,} records are lost"))
    if own.certificate_ends_ms is not None and own.certificate_ends_ms - now_ms < CERTIFICATE_DAYS * DAY_MS:
        days = (own.certificate_ends_ms - now_ms) // DAY_MS
        has_ended = own.certificate_ends_ms <= now_ms
        text = "The TLS certificate has ended" if has_ended else f"The TLS certificate ends in {days} days"
        reasons.append(ReasonRow("critical" if has_ended else "attention", text))
    return reasons


def _of_brokers(brokers: Brokers) -> list[ReasonRow]:
    reasons = []
    for state, text in (("late", "Heartbeats are late"), ("unconfirmed", "Not confirmed, still in the routes"),
                        ("gone", "In the routes without a live entry")):  # fmt: skip
        names = [f"{row.broker}:{row.id}" for row in brokers.rows if row.state == state]
        if names:
            reasons.append(ReasonRow("attention", f"{text}: {_names(names)}"))
    return reasons


def _of_recent(brokers: Brokers, recent: Sequence[Recorded], now_ms: int) -> list[ReasonRow]:
    reasons = []
    here = {(row.broker, row.id) for row in brokers.rows}
    lost = dict.fromkeys(
        f"{one.broker}:{one.id}"
        for one in recent
        if one.event == "down" and one.cause in LOST_CAUSES and now_ms - one.at < LOST_WITHIN_MS
        and one.broker is not None and one.id is not None and (one.broker, one.id) not in here
    )  # fmt: skip
    if lost:
        reasons.append(ReasonRow("critical", f"Lost in the last 10 minutes: {_names(list(lost))}"))
    stalls = [one for one in recent if one.event == "stall" and now_ms - one.at < STALLED_WITHIN_MS]
    if stalls:
        longest_ms = max(one.amount or 0 for one in stalls)
        reasons.append(ReasonRow("attention", f"This name server did not run for {longest_ms / 1000:.1f} s"))
    return reasons


def _of_fleet(fleet: FleetState) -> list[ReasonRow]:
    reasons = [
        ReasonRow("attention", f"The name server {one.addr} cannot be read: {one.error[:200]}")
        for one in fleet.members
        if not one.is_readable
    ]
    for kind in FactKind:
        names = [one.name for one in fleet.disagreements if one.kind is kind]
        if names:
            level: Level = "critical" if kind is FactKind.BROKER else "attention"
            reasons.append(ReasonRow(level, f"Name servers disagree about {NOUNS[kind]} {_names(names)}"))
    return reasons


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_MAX
    shown = ", ".join(name[:80] for name in names[:NAMES_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
