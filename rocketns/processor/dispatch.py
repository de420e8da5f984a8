"""Dispatches requests to their processors, and is the only place where errors become replies."""

from __future__ import annotations

import logging

from rocketns.access.classes import Access
from rocketns.errors import RequestError
from rocketns.processor import client
from rocketns.processor.context import NamesrvContext, Now
from rocketns.processor.requests import request_of
from rocketns.processor.trail import AdminSender
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo.connection import Connection

log = logging.getLogger("rocketns.dispatch")


def process(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """Answer one request. Never raises: an unforeseen error is logged with its stack and answered SYSTEM_ERROR.

    A request of class admin leaves an event, also where it fails.
    """
    events_before, kind = len(context.events), request_of(command.code)
    try:
        answer = client.get_product_route if context.cluster_test else kind.process
        reply = answer(context, command, peer, now)
    except RequestError as error:
        reply = reply_of(error)
    except Exception as error:
        log.exception("process request exception, remoteAddr: %s, request code %d", peer.address, command.code,
                      extra={"code": command.code, "peer": peer.address})  # fmt: skip
        reply = reply_of(RequestError(f"{type(error).__name__}: {error}"))
    if kind.access is Access.ADMIN and not context.cluster_test:
        sender = AdminSender(*context.guard.recorded_address(peer), context.principal, context.access_key)
        has_changed = len(context.events) > events_before
        context.note(context.trail.requested(command, sender, reply.code, now.ms, has_changed=has_changed))
    return reply


def reply_of(error: RequestError) -> Reply:
    """The reply to an error."""
    return Reply(error.response_code, error.remark, {} if error.header_made else None)
