"""Requests of admin tools: cluster info, topic lists, deletion, permissions (part of DefaultRequestProcessor)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from rocketns.errors import AnswerTooLarge, RequestCodeNotSupported, RequestError
from rocketns.javatext import parse_int
from rocketns.processor.context import NamesrvContext, Now
from rocketns.processor.trail import short_json
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.bounds import TOPICS_LISTED_MAX, UNIT_QUEUES_READ_MAX
from rocketns.protocol.codes import DIGEST_BUCKETS
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.headers import (
    BrokerNameRequestHeader,
    GetTopicsByClusterRequestHeader,
    TopicRequestHeader,
    decode_header,
)
from rocketns.routeinfo import topics, view
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import RouteTables
from rocketns.views.views import ShownGroups

log = logging.getLogger("rocketns.admin")

WritePermChange = Callable[[RouteTables, str | None], tuple[int, list[Event]]]


def get_broker_cluster_info(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """GET_BROKER_CLUSTER_INFO: the raw tables, without acting masters."""
    clusters, most = context.tables.cluster_addr_table, context.configuration.limits.outgoing_bytes_max
    return Reply(body=bodies.cluster_info(_groups(context, command, peer), clusters, most))


def _groups(context: NamesrvContext, command: RemotingCommand, peer: Connection) -> Mapping[str, BrokerData]:
    """All broker groups with the addresses that the peer gets."""
    groups, seen = context.tables.broker_addr_table, context.view_of(command, peer)
    return groups if seen is None else ShownGroups(groups, seen.mapping)


def wipe_write_perm_of_broker(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """WIPE_WRITE_PERM_OF_BROKER. The answer counts all topics of the broker, also those without a change."""
    count = _change_write_perm(context, command, peer, topics.wipe_write_perm, "wipe")
    return Reply(ext_fields={"wipeTopicCount": count})


def add_write_perm_of_broker(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """ADD_WRITE_PERM_OF_BROKER. The answer counts all topics of the broker, also those without a change."""
    count = _change_write_perm(context, command, peer, topics.add_write_perm, "add")
    return Reply(ext_fields={"addTopicCount": count})


def _change_write_perm(
    context: NamesrvContext, command: RemotingCommand, peer: Connection, change: WritePermChange, verb: str
) -> str:
    broker_name = decode_header(command, BrokerNameRequestHeader).broker_name
    count, events = change(context.tables, broker_name)
    context.events += events
    context.trail.note_change(*_perms(events, count))
    log.info("%s write perm of broker[%s], client: %s, %d", verb, broker_name, peer.address, count)
    return str(count)


def _perms(events: list[Event], count: int) -> tuple[str | None, str | None]:
    """The permissions before and after, as text for the trail."""
    changes = [change for event in events if isinstance(event, TopicsPut) for change in event.changes]
    if not changes:
        return None, None
    before = sorted({change.old.perm for change in changes if change.old is not None})
    after = sorted({change.new.perm for change in changes})
    return short_json({"perm": before}), short_json({"perm": after, "changed": len(changes), "topics": count})


def get_all_topic_list(context: NamesrvContext, _command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """GET_ALL_TOPIC_LIST_FROM_NAMESERVER."""
    enabled = context.configuration.namesrv.enable_all_topic_list
    log.warning("getAllTopicListFromNameserver %s enable %s", peer.address, str(enabled).lower())
    if not enabled:
        raise RequestError("disable")
    return _topic_list(context, context.tables.topic_queue_table)


def delete_topic(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """DELETE_TOPIC_IN_NAMESRV: always a success; the topic returns with the next full registration."""
    header = decode_header(command, TopicRequestHeader)
    events = topics.delete_topic(context.tables, header.topic, header.cluster_name)
    context.events += events
    if events and header.topic is not None:
        left = context.tables.topic_queue_table.get(header.topic, ())
        gone = [event.broker_name for event in events if isinstance(event, TopicsDeleted)]
        context.trail.note_change(short_json({"brokers": gone}), short_json({"brokers": list(left)}))
    return Reply()


def get_system_topic_list(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """GET_SYSTEM_TOPIC_LIST_FROM_NS: no property switches it off."""
    names, broker_addr = view.system_topics(context.tables, _groups(context, command, peer))
    return _topic_list(context, names, broker_addr)


def get_route_digests(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_ROUTE_DIGESTS: the digests of all buckets as bytes, or with the field ``bucket`` its topics as a KVTable."""
    digests = context.route_digests
    if digests is None:
        raise RequestCodeNotSupported(command.code)
    if context.restoring:
        raise RequestError("name server not ready")
    text = command.ext("bucket")
    if text is None:
        return Reply(ext_fields={"topics": str(len(digests))}, body=digests.buckets())
    bucket = parse_int(text)
    if bucket is None or not 0 <= bucket < DIGEST_BUCKETS:
        raise RequestError(f"bucket must be a number below {DIGEST_BUCKETS}")
    if not context.configuration.namesrv.enable_all_topic_list:
        raise RequestError("disable")
    return Reply(body=bodies.kv_table({topic: f"{digest:x}" for topic, digest in digests.topics(bucket).items()}))


def get_topics_by_cluster(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_TOPICS_BY_CLUSTER."""
    _check_topic_list_enabled(context)
    cluster = decode_header(command, GetTopicsByClusterRequestHeader).cluster
    return _topic_list(context, view.topics_by_cluster(context.tables, cluster, TOPICS_LISTED_MAX))


Processor = Callable[[NamesrvContext, RemotingCommand, Connection, Now], Reply]


def unit_list_processor(read: Callable[[RouteTables, int], Collection[str]]) -> Processor:
    """A processor for one of the lists by unit flag, which `enableTopicList` switches off."""

    def process(context: NamesrvContext, _command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
        _check_topic_list_enabled(context)
        return _topic_list(context, read(context.tables, UNIT_QUEUES_READ_MAX))

    return process


def _topic_list(context: NamesrvContext, names: Collection[str], broker_addr: str | None = None) -> Reply:
    if len(names) > TOPICS_LISTED_MAX:
        raise AnswerTooLarge("the list has more names than TOPICS_LISTED_MAX", TOPICS_LISTED_MAX)
    return Reply(body=bodies.topic_list(names, context.configuration.limits.outgoing_bytes_max, broker_addr))


def _check_topic_list_enabled(context: NamesrvContext) -> None:
    if not context.configuration.namesrv.enable_topic_list:
        raise RequestError("disable")
