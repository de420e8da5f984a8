"""The table of requests: what answers each code, which right it needs, and whether it must be carried out; and how one
is answered: only here errors become replies.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from rocketns.access.classes import Access
from rocketns.errors import RequestCodeNotSupported, RequestError
from rocketns.processor import admin, broker, client, settings
from rocketns.processor.admin import Processor, unit_list_processor
from rocketns.processor.context import NamesrvContext, Now
from rocketns.processor.trail import AdminSender
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo import view
from rocketns.routeinfo.connection import Connection

log = logging.getLogger("rocketns.dispatch")

LOOKUP, READ, SCAN, CONFIG, BROKER, ADMIN, OFF = Access
SENT_ONLY = frozenset({RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE})


class RequestKind(NamedTuple):
    """``has_effect``: it changes something, so it is processed even if its connection is closed.

    While its frame waits undecoded, server/control/inbox.py counts one of class LOOKUP in the queue of lookups, and
    keeps one that has an effect when its connection is closed.
    """

    process: Processor
    access: Access
    has_effect: bool = False


def _refuse(_context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    raise RequestCodeNotSupported(command.code)


UNKNOWN_REQUEST = RequestKind(_refuse, OFF)

REQUESTS: dict[int, RequestKind] = {
    RequestCode.PUT_KV_CONFIG: RequestKind(settings.put_kv_config, ADMIN, has_effect=True),
    RequestCode.GET_KV_CONFIG: RequestKind(settings.get_kv_config, READ),
    RequestCode.DELETE_KV_CONFIG: RequestKind(settings.delete_kv_config, ADMIN, has_effect=True),
    RequestCode.REGISTER_BROKER: RequestKind(broker.register_broker, BROKER, has_effect=True),
    RequestCode.UNREGISTER_BROKER: RequestKind(broker.unregister_broker, BROKER, has_effect=True),
    RequestCode.GET_ROUTEINFO_BY_TOPIC: RequestKind(client.get_route_info_by_topic, LOOKUP),
    RequestCode.GET_BROKER_CLUSTER_INFO: RequestKind(admin.get_broker_cluster_info, READ),
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: RequestKind(admin.wipe_write_perm_of_broker, ADMIN, has_effect=True),
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: RequestKind(admin.get_all_topic_list, READ),
    RequestCode.DELETE_TOPIC_IN_NAMESRV: RequestKind(admin.delete_topic, ADMIN, has_effect=True),
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: RequestKind(broker.register_topic, BROKER, has_effect=True),
    RequestCode.GET_KVLIST_BY_NAMESPACE: RequestKind(settings.get_kv_list_by_namespace, READ),
    RequestCode.GET_TOPICS_BY_CLUSTER: RequestKind(admin.get_topics_by_cluster, SCAN),
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: RequestKind(admin.get_system_topic_list, READ),
    RequestCode.GET_UNIT_TOPIC_LIST: RequestKind(unit_list_processor(view.unit_topics), SCAN),
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: RequestKind(unit_list_processor(view.has_unit_sub_topics), SCAN),
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: RequestKind(
        unit_list_processor(view.has_unit_sub_ununit_topics), SCAN
    ),
    RequestCode.UPDATE_NAMESRV_CONFIG: RequestKind(settings.update_namesrv_config, ADMIN, has_effect=True),
    RequestCode.GET_NAMESRV_CONFIG: RequestKind(settings.get_namesrv_config, CONFIG),
    RequestCode.QUERY_DATA_VERSION: RequestKind(broker.query_data_version, BROKER, has_effect=True),
    RequestCode.ADD_WRITE_PERM_OF_BROKER: RequestKind(admin.add_write_perm_of_broker, ADMIN, has_effect=True),
    RequestCode.GET_BROKER_MEMBER_GROUP: RequestKind(broker.get_broker_member_group, BROKER),
    RequestCode.GET_ROUTE_DIGESTS: RequestKind(admin.get_route_digests, READ),
    RequestCode.BROKER_HEARTBEAT: RequestKind(broker.broker_heartbeat, BROKER, has_effect=True),
}


def check_rows(rows: Collection[int]) -> None:
    """LookupError if an answered code has no row, or a code that is only sent has one."""
    if wrong := [code.name for code in RequestCode if (code in rows) is (code in SENT_ONLY)]:
        raise LookupError(
            f"each RequestCode has a row in REQUESTS of processor/requests.py, or is in SENT_ONLY there: {wrong}"
        )


check_rows(REQUESTS)


def request_of(code: int) -> RequestKind:
    """The row of a code. `UNKNOWN_REQUEST` of any other."""
    return REQUESTS.get(code, UNKNOWN_REQUEST)


def process(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """Answer one request. Never raises: an unforeseen error is logged with its stack and answered SYSTEM_ERROR.

    A request of class admin leaves an event, also where it fails.
    """
    events_before, kind = len(context.events), REQUESTS.get(command.code, UNKNOWN_REQUEST)
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
        context.events += context.trail.requested(command, sender, reply.code, now.ms, has_changed=has_changed)
    return reply


def reply_of(error: RequestError) -> Reply:
    """The reply to an error."""
    return Reply(error.response_code, error.remark, {} if error.header_made else None)
