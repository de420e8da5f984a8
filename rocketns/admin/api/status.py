"""The name server in numbers: what the status page shows first."""

from __future__ import annotations

import asyncio
import math

from rocketns import __version__
from rocketns.admin.api.assessing import Own, Seen, assess, lost_brokers, worst
from rocketns.admin.api.copies import copy_brokers, copy_missing
from rocketns.admin.api.rows import StatusRow
from rocketns.admin.api.tables import Source
from rocketns.server.facts.facts import Facts


async def read_status(source: Source) -> StatusRow:
    """Busy if control does not answer."""
    facts, recent = source.view.facts, source.recent
    brokers = await source.view.copy(copy_brokers)
    missing = await source.view.copy(copy_missing)
    wiped = await source.wiped.names(asyncio.get_running_loop().time())
    now, changes = facts.now(), recent.events.copy()
    own = _own(facts, source.refusing.is_recent(facts.registrations_refused, now.ms))
    lost = lost_brokers(brokers, changes, now.epoch_ms)
    reasons = assess(own, Seen(brokers, lost, wiped, missing), changes, facts.fleet, now.epoch_ms)
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
