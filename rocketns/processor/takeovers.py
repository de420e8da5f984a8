"""The takeover guard: asked for each registration before it changes anything. `access.takeover` decides."""

from __future__ import annotations

import logging

from rocketns.access.classes import Mode
from rocketns.access.takeover import excuse_of, holder_of
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.headers import RegisterBrokerRequestHeader
from rocketns.routeinfo.connection import Connection

log = logging.getLogger("rocketns.access")


def check_takeover(
    context: NamesrvContext, header: RegisterBrokerRequestHeader, command: RemotingCommand, peer: Connection, now: Now
) -> None:
    """NoPermission if the registration would take an id away from a live broker, nothing allows it, and the mode is
    ENFORCE.
    """
    name, broker_id, addr = header.broker_name, header.broker_id, header.broker_addr
    if name is None or broker_id is None or not addr or header.cluster_name is None:
        return  # it registers nothing
    holder = holder_of(context.tables, name, broker_id, addr, now.ms)
    if holder is None or context.guard.policy.takeover is Mode.OFF:
        return
    guard = context.guard
    excuse = excuse_of(context.tables, name, addr, guard.host_of(peer), guard.known(peer, command))
    if excuse is None:
        _refuse(context, command, peer, holder, now)
    else:
        log.info("broker %s takes the id %d of the group %s over from %s, which counts as live: allowed (%s)",
                 addr, broker_id, name, holder, excuse)  # fmt: skip


def _refuse(context: NamesrvContext, command: RemotingCommand, peer: Connection, holder: str, now: Now) -> None:
    verdict = context.guard.refuse_takeover(peer, command, holder, context.principals, now.ms)
    if verdict.event is not None:
        context.note([verdict.event])
    if verdict.error is not None:
        raise verdict.error
