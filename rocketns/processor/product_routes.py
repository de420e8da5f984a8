"""ClusterTestRequestProcessor: every request is a lookup. The product environment is asked for unknown topics."""

from __future__ import annotations

from rocketns.errors import TopicNotExist
from rocketns.processor.client import route_reply
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo import view
from rocketns.routeinfo.connection import Connection


def get_route_info_by_topic(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """The route from these tables, always with its order configuration and in default mode; TopicNotExist otherwise."""
    topic = command.name("topic")
    route = view.pick_up_route(context.tables, context.configuration.namesrv, topic)
    if route is None:
        raise TopicNotExist(topic, context.release.faq)
    route.order_topic_conf = context.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)
    return route_reply(command, route, standard=False)
