"""The table from request code to processor, and the only place where errors become replies."""

from __future__ import annotations

import logging

from rocketns.errors import RequestCodeNotSupported, RequestError
from rocketns.processor import admin, broker, client, product_routes, settings
from rocketns.processor.admin import Processor, topic_list_processor
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo import view
from rocketns.routeinfo.connection import Connection

log = logging.getLogger("rocketns.dispatch")

PROCESSORS: dict[int, Processor] = {
    RequestCode.PUT_KV_CONFIG: settings.put_kv_config,
    RequestCode.GET_KV_CONFIG: settings.get_kv_config,
    RequestCode.DELETE_KV_CONFIG: settings.delete_kv_config,
    RequestCode.REGISTER_BROKER: broker.register_broker,
    RequestCode.UNREGISTER_BROKER: broker.unregister_broker,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: client.get_route_info_by_topic,
    RequestCode.GET_BROKER_CLUSTER_INFO: admin.get_broker_cluster_info,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: admin.wipe_write_perm_of_broker,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: admin.get_all_topic_list,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: admin.delete_topic,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: broker.register_topic,
    RequestCode.GET_KVLIST_BY_NAMESPACE: settings.get_kv_list_by_namespace,
    RequestCode.GET_TOPICS_BY_CLUSTER: admin.get_topics_by_cluster,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: admin.get_system_topic_list,
    RequestCode.GET_UNIT_TOPIC_LIST: topic_list_processor(view.unit_topics),
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: topic_list_processor(view.has_unit_sub_topics),
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topic_list_processor(view.has_unit_sub_ununit_topics),
    RequestCode.UPDATE_NAMESRV_CONFIG: settings.update_namesrv_config,
    RequestCode.GET_NAMESRV_CONFIG: settings.get_namesrv_config,
    RequestCode.QUERY_DATA_VERSION: broker.query_data_version,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: admin.add_write_perm_of_broker,
    RequestCode.GET_BROKER_MEMBER_GROUP: broker.get_broker_member_group,
    RequestCode.GET_ROUTE_DIGESTS: admin.get_route_digests,
    RequestCode.BROKER_HEARTBEAT: broker.broker_heartbeat,
}

# Requests that change something. They are processed even if their connection is closed.
HAVE_EFFECT = frozenset({
    RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG,
    RequestCode.REGISTER_BROKER,
    RequestCode.UNREGISTER_BROKER,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV,
    RequestCode.UPDATE_NAMESRV_CONFIG,
    RequestCode.QUERY_DATA_VERSION,
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    RequestCode.BROKER_HEARTBEAT,
})  # fmt: skip


def process(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """Answer one request. Never raises: an unforeseen error is logged with its stack and answered SYSTEM_ERROR."""
    try:
        return _processor(context, command.code)(context, command, peer, now)
    except RequestError as error:
        return reply_of(error)
    except Exception as error:
        log.exception("process request exception, remoteAddr: %s, request code %d", peer.address, command.code,
                      extra={"code": command.code, "peer": peer.address})  # fmt: skip
        return reply_of(RequestError(f"{type(error).__name__}: {error}"))


def _processor(context: NamesrvContext, code: int) -> Processor:
    if context.cluster_test:
        return product_routes.get_route_info_by_topic
    processor = PROCESSORS.get(code)
    if processor is None:
        raise RequestCodeNotSupported(code)
    return processor


def reply_of(error: RequestError) -> Reply:
    """The reply to an error."""
    return Reply(error.response_code, error.remark, {} if error.header_made else None)
