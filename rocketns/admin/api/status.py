"""The name server in numbers, and what an operator should know at once: why it, or its fleet, is not well."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketns import __version__
from rocketns.admin.api.copies import BrokersCopy, copy_brokers, copy_missing
from rocketns.admin.api.rows import Level, LostRow, MissingRow, ReasonRow, StatusRow
from rocketns.admin.api.tables import Source
from rocketns.admin.recent import RecentChange
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import FleetState
from rocketns.languages import N_
from rocketns.protocol.codes import MASTER_ID
from rocketns.server.facts.facts import Facts
from rocketns.server.missing.reasons import MissingReason

REASONS_MAX = 20
LOST_MAX = 100
LOST_CHARACTERS_MAX = 4_000  # of all names in the rows after the first
LOST_WITHIN_MS = 10 * 60_000
STALLED_WITHIN_MS = 10 * 60_000
DAY_MS = 86_400_000
CERTIFICATE_DAYS = 14  # as the alert rule CertificateEnds
LEVELS: tuple[Level, ...] = ("ok", "attention", "critical")
LOST_CAUSES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")
# Not of interest here: others make these topics, or the first message does, or the lack of brokers is the cause.
EXPECTED = (MissingReason.GROUP, MissingReason.SYSTEM, MissingReason.CREATED, MissingReason.NO_BROKERS)
STATES = (
    ("late", N_("Heartbeats are late: %(names)s")),
    ("unconfirmed", N_("Not confirmed, still in the routes: %(names)s")),
    ("gone", N_("In the routes without a live entry: %(names)s")),
)
NOT_READY = (
    N_("the routes are being restored"), N_("it starts"), N_("it drains"), N_("waitSecondsForService is not over"),
)  # fmt: skip
DISAGREE = {
    FactKind.BROKER: N_("Name servers disagree about broker %(names)s"),
    FactKind.TOPIC: N_("Name servers disagree about topic %(names)s"),
    FactKind.ORDER: N_("Name servers disagree about the order configuration of %(names)s"),
}

NAMES_MAX = 5
NAME_CHARACTERS_MAX = 80
DETAIL_CHARACTERS_MAX = 200


def worst(reasons: Sequence[ReasonRow]) -> Level:
    """The level of the worst reason."""
    return max((one.level for one in reasons), key=LEVELS.index, default="ok")


@dataclass(frozen=True, slots=True)
class Own:
    """What is true of this name server itself. ``journal_losing``: records lost since its buffer became full.

    ``certificate_ends_ms`` is of the wall clock; None if TLS was not used yet. ``refusing``: registrations were refused
    lately, because the tables are full. ``connections_full``: no more are accepted.
    """

    not_ready: str | None = None
    journal_failing: bool = False
    journal_losing: int = 0
    certificate_ends_ms: int | None = None
    refusing: bool = False
    connections_full: int = 0


@dataclass(frozen=True, slots=True)
class SeenTables:
    """What is in the tables. ``missing``: topics that were asked for, the latest last."""

    brokers: BrokersCopy
    lost: Sequence[LostRow] = ()
    wiped: Sequence[str] = ()
    missing: Sequence[MissingRow] = ()


def assess(
    own: Own, seen: SeenTables, recent: Sequence[RecentChange], fleet: FleetState, now_ms: int
) -> tuple[ReasonRow, ...]:
    """The reasons, the worst first. ``now_ms`` is of the wall clock."""
    reasons = [*_of_itself(own, now_ms), *_of_tables(seen), *_of_fleet(fleet), *_of_recent(recent, now_ms)]
    reasons.sort(key=lambda one: -LEVELS.index(one.level))
    return tuple(reasons[:REASONS_MAX])


def _of_itself(own: Own, now_ms: int) -> Iterator[ReasonRow]:
    if own.not_ready is not None:
        yield reason("critical", "notReady", N_("This name server is not ready"), detail=own.not_ready)
    if own.refusing:
        yield reason("critical", "refusing", N_("Registrations are refused: the route tables are full"))
    if own.connections_full:
        yield reason("critical", "connections", N_("The limit of connections is reached: %(n)s are open"),
                     n=own.connections_full)  # fmt: skip
    if own.journal_failing:
        yield reason("attention", "journalFailing", N_("The journal cannot be written: the log says why"))
    if own.journal_losing:
        yield reason("attention", "journalLosing", N_("The journal's buffer is full: %(n)s records are lost"),
                     n=own.journal_losing)  # fmt: skip
    if own.certificate_ends_ms is not None:
        yield from _of_certificate(own.certificate_ends_ms - now_ms)


def _of_certificate(left_ms: int) -> Iterator[ReasonRow]:
    if left_ms <= 0:
        yield reason("critical", "certificate", N_("The TLS certificate has ended"))
    elif left_ms < CERTIFICATE_DAYS * DAY_MS:
        yield reason("attention", "certificate", N_("The TLS certificate ends in %(n)s day"),
                     many=N_("The TLS certificate ends in %(n)s days"), n=left_ms // DAY_MS)  # fmt: skip


def _of_tables(seen: SeenTables) -> Iterator[ReasonRow]:
    if not seen.brokers.rows:
        yield reason("critical", "noBroker", N_("No broker is registered"))
    if seen.lost:
        yield reason("critical", "lost", N_("Lost in the last 10 minutes: %(names)s"),
                     [f"{one.broker}:{one.id}" for one in seen.lost])  # fmt: skip
    lost_masters = {one.broker for one in seen.lost if one.id == MASTER_ID}  # that is the cause
    masterless = [name for name in seen.brokers.masterless if name not in lost_masters]
    if masterless:
        yield reason("critical", "noMaster", N_("No master: %(names)s"), masterless)
    for state, message in STATES:
        names = [f"{row.broker}:{row.id}" for row in seen.brokers.rows if row.state == state]
        if names:
            yield reason("attention", state, message, names)
    viewed = [f"{row.broker}:{row.id}" for row in seen.brokers.rows if row.view is not None]
    if viewed:
        yield reason("attention", "viewed", N_("Registered through a view, where brokers do not belong: %(names)s"),
                     viewed)  # fmt: skip
    if seen.wiped:
        yield reason("attention", "wiped", N_("No topic takes messages, write permission is wiped: %(names)s"),
                     seen.wiped)  # fmt: skip
    topics = [one.topic for one in seen.missing if one.reason not in EXPECTED]
    if topics:
        yield reason("attention", "missing", N_("Asked for, and not there: %(names)s"), topics)


def lost_brokers(brokers: BrokersCopy, recent: Sequence[RecentChange], now_ms: int) -> tuple[LostRow, ...]:
    """Those that were lost lately and are not back, the latest first."""
    here = {(row.broker, row.id) for row in brokers.rows}
    lost: dict[tuple[str, int], LostRow] = {}
    room = LOST_CHARACTERS_MAX
    for one in reversed(recent):
        if now_ms - one.at >= LOST_WITHIN_MS or len(lost) == LOST_MAX or room <= 0:
            break
        if one.event == "down" and one.cause in LOST_CAUSES and one.broker is not None and one.id is not None:
            key = one.broker, one.id
            if key not in here and key not in lost:
                lost[key] = LostRow(*key, one.address, one.cluster, one.at, str(one.cause))
                room -= sum(map(len, (one.broker, one.address or "", one.cluster or "")))
    return tuple(lost.values())


def _of_recent(recent: Sequence[RecentChange], now_ms: int) -> Iterator[ReasonRow]:
    stalls = [one for one in recent if one.event == "stall" and now_ms - one.at < STALLED_WITHIN_MS]
    if stalls:
        longest_s = math.ceil(max(one.amount or 0 for one in stalls) / 1000)
        yield reason("attention", "stall", N_("This name server did not run for %(n)s second"),
                     many=N_("This name server did not run for %(n)s seconds"), n=longest_s)  # fmt: skip


def _of_fleet(fleet: FleetState) -> Iterator[ReasonRow]:
    for one in fleet.members:
        if not one.is_readable:
            yield reason("attention", "unreadable", N_("The name server %(names)s cannot be read"), [one.addr],
                         detail=one.error)  # fmt: skip
    for kind in FactKind:
        found = [one for one in fleet.disagreements if one.kind is kind and not one.follows]
        if found:
            level: Level = "critical" if kind is FactKind.BROKER else "attention"
            follow = sum(one.topics for one in found) if kind is FactKind.BROKER else 0
            yield reason(level, f"disagree{kind.name.title()}", DISAGREE[kind], [one.name for one in found], n=follow)


def reason(
    level: Level, name: str, message: str, names: Sequence[str] = (), *, many: str | None = None, n: int | None = None,
    detail: str = "",
) -> ReasonRow:  # fmt: skip
    """``message`` may have ``%(names)s`` and ``%(n)s``; ``many`` is its plural.

    ``detail``: technical words, which stay English.
    """
    shown = tuple(one[:NAME_CHARACTERS_MAX] for one in names[:NAMES_MAX])
    more = len(names) - len(shown)
    chosen = many if many is not None and n != 1 else message
    listed = ", ".join(shown) + (f" and {more} more" if more else "")
    said = chosen % {"names": listed, "n": f"{n or 0:,}"}
    detail = detail[:DETAIL_CHARACTERS_MAX]
    return ReasonRow(level, f"{said}: {detail}" if detail else said, name, message, many, n, shown, more, detail)


async def read_status(source: Source) -> StatusRow:
    """Busy if control does not answer."""
    facts, recent = source.view.facts, source.recent
    brokers = await source.view.copy(copy_brokers)
    missing = await source.view.copy(copy_missing)
    wiped = await source.wiped.names(asyncio.get_running_loop().time())
    now, changes = facts.now(), recent.events.copy()
    own = _own(facts, source.refusing.is_recent(facts.registrations_refused, now.ms))
    lost = lost_brokers(brokers, changes, now.epoch_ms)
    reasons = assess(own, SeenTables(brokers, lost, wiped, missing), changes, facts.fleet, now.epoch_ms)
    found, missed = facts.reactors.lookups
    journal = facts.journal
    return StatusRow(
        name=facts.name,
        version=__version__,
        now=now.epoch_ms,
        started=now.epoch_ms - (now.ms - facts.started_ms),
        level=worst(reasons),
        reasons=reasons,
        ready=own.not_ready is None,
        clusters=len({row.cluster for row in brokers.rows}),
        groups=brokers.groups,
        brokers=len(brokers.rows),
        late=sum(row.state == "late" for row in brokers.rows),
        unconfirmed=sum(row.state == "unconfirmed" for row in brokers.rows),
        masterless=len(brokers.masterless),
        lost=lost,
        wiped=wiped,
        topics=len(facts.tables.topic_queue_table),
        missing_topics=facts.missing_topics,
        connections=facts.reactors.connections,
        lookups=found + missed,
        lookups_missed=missed,
        registrations=facts.registrations,
        waiting_requests=facts.waiting_requests,
        kv_bytes=facts.kv_bytes,
        journal_bytes=None if journal is None else journal.waiting_bytes,
        journal_lost=None if journal is None else journal.lost,
        journal_failing=None if journal is None else journal.is_failing,
        certificate_ends=own.certificate_ends_ms,
    )


def _own(facts: Facts, refusing: bool) -> Own:
    journal, ends_s = facts.journal, facts.certificate_ends_s
    connections, most = facts.reactors.connections, facts.configuration.limits.connections_max
    return Own(
        not_ready=facts.why_not_ready(),
        journal_failing=journal is not None and journal.is_failing,
        journal_losing=0 if journal is None else journal.losing,
        certificate_ends_ms=None if ends_s is None or not math.isfinite(ends_s) else round(ends_s * 1000),
        refusing=refusing,
        connections_full=connections if connections >= most else 0,
    )
