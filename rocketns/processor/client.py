"""Route lookups: ClientRequestProcessor with ZoneRouteRPCHook, and ClusterTestRequestProcessor.

In the cluster-test mode every request is a lookup, and the product environment is asked for unknown topics.
"""

from __future__ import annotations

import logging

from rocketns.errors import RequestError, TopicNotExist
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import TopicRouteData
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, V4_9_4, RequestCode
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.headers import GetRouteInfoRequestHeader, decode_header, requested_zone
from rocketns.routeinfo import view
from rocketns.routeinfo.connection import Connection

log = logging.getLogger("rocketns.client")


def get_route_info_by_topic(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """GET_ROUTEINFO_BY_TOPIC."""
    if not is_ready(context, now):
        log.warning("name server not ready. request code 105", extra={"code": 105})
        raise RequestError("name server not ready")
    header = decode_header(command, GetRouteInfoRequestHeader)
    config = context.configuration.namesrv
    seen = context.view_of(command, peer)
    route = view.pick_up_route(context.tables, config, header.topic, None if seen is None else seen.show)
    if context.count_lookup is not None:
        context.count_lookup(header.topic, peer.address, command.language, command.version, route is None)
    if route is None:
        if context.note_missing is not None:
            context.note_missing(header.topic, peer, now)
        raise TopicNotExist(header.topic, context.release.faq)
    if config.order_message_enable:
        route.order_topic_conf = context.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, header.topic)
    return route_reply(command, route, standard=command.version >= V4_9_4 or header.accept_standard_json_only)


def route_reply(command: RemotingCommand, route: TopicRouteData, *, standard: bool) -> Reply:
    """The reply with a route. A route filtered by zone is always in default mode, whatever the client can read."""
    zone = requested_zone(command) if command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC else None
    if zone is not None:
        view.filter_by_zone(route, zone)
    return Reply(body=bodies.topic_route_data(route, standard=standard and zone is None))


def is_ready(context: NamesrvContext, now: Now) -> bool:
    """Whether the tables are filled and needWaitForService allows lookups. Its properties are read each time."""
    config = context.configuration.namesrv
    if context.restoring:
        return False
    return not config.need_wait_for_service or now.ms - context.started_ms >= config.wait_seconds_for_service * 1000


def get_product_route(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """The route from these tables, always with its order configuration and in default mode; TopicNotExist otherwise."""
    topic = command.name("topic")
    seen = context.view_of(command, peer)
    config = context.configuration.namesrv
    route = view.pick_up_route(context.tables, config, topic, None if seen is None else seen.show)
    if route is None:
        raise TopicNotExist(topic, context.release.faq)
    route.order_topic_conf = context.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)
    return route_reply(command, route, standard=False)
