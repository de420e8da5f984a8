"""Static topics: a registration may name other brokers in its mappings, and a principal may not be allowed to."""

from __future__ import annotations

from rocketns.access.classes import Access, AccessRequest
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.body.register_broker_body import RegisterBrokerBody
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.connection import Connection


def check_mapped_brokers(
    context: NamesrvContext, body: RegisterBrokerBody, broker_name: str | None, command: RemotingCommand,
    peer: Connection, now: Now,
) -> None:  # fmt: skip
    """NoPermission if the mappings name a broker that the sender may not register. Brokers name themselves only."""
    wrapper = body.topic_config_wrapper
    mappings = None if wrapper is None else wrapper.topic_queue_mapping_info_map
    if not mappings or context.guard.is_off:
        return
    names = {info.bname or "" for info in mappings.values()} - {broker_name}
    if not names:
        return
    verdict = context.guard.ask_for(peer, command, AccessRequest(command.code, Access.BROKER, lambda: [*names]), now.ms)
    if verdict.event is not None:
        context.note([verdict.event])
    if verdict.error is not None:
        raise verdict.error
