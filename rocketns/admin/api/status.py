"""The name server in numbers, with the reasons why it, or its fleet, is not well."""

from __future__ import annotations

import math
import socket

from rocketns import __version__
from rocketns.addresses import ANY_ADDRESS, bare, with_port
from rocketns.admin.api.copies import closed_groups, copy_brokers, copy_missing
from rocketns.admin.api.reasons import StatusScene, assess, lost_brokers
from rocketns.admin.api.rows import BrokerStateRow, MissingRow, StatusRow
from rocketns.admin.api.tables import ApiSource
from rocketns.server.facts import Facts

REFUSED_WITHIN_MS = 10 * 60_000
# Counting goes over all queues of all topics. With the pauses of its slices it takes control a third of the time, and
# with this rest one part in fifty.
WIPED_RESTS = 16


def own_name(facts: Facts) -> str:
    """Host and port by which people know it. 0.0.0.0 says nothing: then it is the name of the machine."""
    host, _, port = facts.name.rpartition(":")
    return with_port(socket.gethostname() if bare(host) in ANY_ADDRESS else bare(host), int(port))


async def read_status(source: ApiSource, _: object = None) -> StatusRow:
    """Busy if control does not answer."""
    facts = source.view.facts
    brokers = await source.view.copy(copy_brokers)
    missing = await source.view.copy(copy_missing)
    wiped = await source.view.copy(closed_groups, WIPED_RESTS)
    scene = _scene(source, brokers, missing, wiped)
    reasons = assess(scene)
    found, missed = facts.reactors.lookups
    return StatusRow(
        name=scene.address,
        version=__version__,
        now=scene.now_ms,
        started=scene.now_ms - (facts.now().ms - facts.context.started_ms),
        level=reasons[0].level if reasons else "ok",
        reasons=reasons,
        clusters=len({row.cluster for row in brokers}),
        groups=len(facts.tables.broker_addr_table),
        brokers=len(brokers),
        late=sum(row.state == "late" for row in brokers),
        lost=scene.lost,
        wiped=scene.wiped,
        topics=len(facts.tables.topic_queue_table),
        missing_topics=facts.asked.missing,
        connections=facts.reactors.connections,
        lookups=found + missed,
        lookups_missed=missed,
        registrations=facts.context.registrations.total,
        waiting_requests=facts.control.waiting_requests,
    )


def _scene(
    source: ApiSource, brokers: tuple[BrokerStateRow, ...], missing: tuple[MissingRow, ...], wiped: tuple[str, ...]
) -> StatusScene:
    facts = source.view.facts
    now, changes, configuration = facts.now(), source.recent.events.copy(), facts.configuration
    journal, ends_s = facts.journal, facts.tls.certificate_ends_s
    most, refusals = configuration.limits.connections_max, facts.context.refusals
    return StatusScene(
        brokers=brokers,
        lost=lost_brokers(brokers, changes, now.epoch_ms),
        wiped=wiped,
        missing=missing,
        changes=changes,
        fleet=facts.fleet,
        now_ms=now.epoch_ms,
        address=own_name(facts),
        drain=f"http{'s' if configuration.admin.admin_tls else ''}://127.0.0.1:{configuration.admin.admin_port}/drainz",
        not_ready=facts.why_not_ready(),
        journal_path=configuration.journal.journal_path,
        journal_failure="" if journal is None else journal.failure,
        journal_losing=0 if journal is None else journal.losing,
        certificate_ends_ms=None if ends_s is None or not math.isfinite(ends_s) else round(ends_s * 1000),
        certificate_path=facts.tls.certificate_path,
        full=refusals.limit if refusals.last_ms is not None and now.ms - refusals.last_ms < REFUSED_WITHIN_MS else None,
        refused=refusals.last,
        connections_full=most if facts.reactors.connections >= most else 0,
    )
