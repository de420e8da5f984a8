"""The name server in numbers: what the status page shows first."""

from __future__ import annotations

import math

from rocketns import __version__
from rocketns.admin.api.assessing import Own, assess, worst
from rocketns.admin.api.copies import copy_brokers
from rocketns.admin.api.rows import StatusRow
from rocketns.admin.api.tables import Source
from rocketns.admin.readiness import why_not_ready
from rocketns.controller import NamesrvController


async def read_status(source: Source) -> StatusRow:
    """Busy if control does not answer."""
    controller, recent = source.view.controller, source.recent
    brokers = await source.view.copy(copy_brokers)
    context, reactors, now = controller.context, controller.reactors, controller.clock.now()
    own = _own(controller)
    reasons = assess(own, brokers, recent.events.copy(), controller.fleet.state, now.epoch_ms)
    counted = [(0, 0)] if reactors is None else reactors.counters()
    netty, journal = controller.configuration.netty, controller.journal
    return StatusRow(
        name=f"{netty.bind_address}:{netty.listen_port}",
        version=__version__,
        now=now.epoch_ms,
        started=now.epoch_ms - (now.ms - context.started_ms),
        level=worst(reasons),
        reasons=reasons,
        ready=own.not_ready is None,
        clusters=len({row.cluster for row in brokers.rows}),
        groups=brokers.groups,
        brokers=len(brokers.rows),
        late=sum(row.state == "late" for row in brokers.rows),
        unconfirmed=sum(row.state == "unconfirmed" for row in brokers.rows),
        masterless=len(brokers.masterless),
        topics=len(context.tables.topic_queue_table),
        connections=len(controller.asyncio_transport.connections) if reactors is None else reactors.connections,
        lookups=sum(map(sum, counted)),
        lookups_missed=sum(missed for _, missed in counted),
        registrations=context.registrations.total,
        waiting_requests=controller.control.waiting_requests,
        kv_bytes=context.kv_config.bytes,
        journal_bytes=None if journal is None else journal.buffer.waiting_bytes,
        journal_lost=None if journal is None else journal.buffer.lost_total,
        journal_failing=None if journal is None else journal.writer.is_failing,
        certificate_ends=own.certificate_ends_ms,
    )


def _own(controller: NamesrvController) -> Own:
    journal, ends_s = controller.journal, controller.tls.certificate_ends_s
    return Own(
        not_ready=why_not_ready(controller),
        journal_failing=journal is not None and journal.writer.is_failing,
        journal_losing=0 if journal is None else journal.buffer.lost,
        certificate_ends_ms=None if ends_s is None or not math.isfinite(ends_s) else round(ends_s * 1000),
    )
