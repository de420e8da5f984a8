"""From known routes to tables: every broker is live and unconfirmed; and how its topics are replaced.

In Java a first registration finds no topics of the broker. Here it replaces those that were known at the start as a
whole. But not every registration has all topics: a broker sends changed topics by themselves, and may split its table
into parts of any size (enableSplitRegistration). Java refuses a single topic from an unknown broker; here it is taken,
and replaces nothing. Topics that no registration names go only after the other parts had time to come, so that no
route is lost in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocketns._fast.routes.queue_table import add_changes
from rocketns.protocol.body.route import TopicTable
from rocketns.routeinfo.doubt import Doubt, DoubtReason, Unheard
from rocketns.routeinfo.events import Cause, TopicChange, TopicsDeleted, TopicsPut
from rocketns.routeinfo.prior_routes import PriorGroup, PriorLive, PriorRoutes
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables, heartbeat_timeout_ms

# Entries of one piece of `topic_pieces`: some milliseconds of work.
PIECE_ENTRIES = 16_384
# The parts of a split table come one right after another.
PARTS_WITHIN_MS = 3_000


def fill(tables: RouteTables, prior: PriorRoutes, reason: DoubtReason, now_ms: int, confirm_ms: int) -> None:
    """Put known routes into empty tables. Each broker has ``confirm_ms`` for its first sign of life.

    An address of a group without a live entry gets one, without a data version: it would stay for ever otherwise.
    Groups without members, which a Java name server may have, are left out.
    """
    for name, group in prior.groups.items():
        if group.brokers:
            _put_group(tables, name, group)
            tables.unheard[name] = Unheard()
    for (cluster, addr), live in prior.lives.items():
        key = BrokerAddrInfo(cluster, addr)
        if live.timeout_ms is not None or live.members:
            doubt = Doubt(reason, now_ms, now_ms + confirm_ms, live.seen_epoch_ms)
            tables.put_live_entry(key, _live_entry(live, doubt, now_ms))
        tables.put_filter_servers(key, live.filter_servers)
    tables.filled += len(tables.unconfirmed)
    tables.topic_queue_table.update(prior.topics)
    for topic, infos in prior.mappings.items():
        for info in infos.values():
            tables.put_mapping(topic, info)
    tables.static_topics.update(prior.mappings)


def _put_group(tables: RouteTables, name: str, group: PriorGroup) -> None:
    data = tables.add_group(group.cluster, name)
    data.zone_name, data.enable_acting_master = group.zone_name, group.enable_acting_master
    tables.changed_groups.add(name)
    for broker_id, broker in group.brokers.items():
        for other in [i for i, addr in data.broker_addrs.items() if addr == broker.addr]:
            tables.remove_member(data, other)  # lost records: an address has one id in a group
        tables.put_member(data, broker_id, broker.addr, broker.cluster)
    tables.assumed.add(name)


def _live_entry(live: PriorLive, doubt: Doubt, now_ms: int) -> BrokerLiveInfo:
    timeout_ms = heartbeat_timeout_ms(live.timeout_ms)
    return BrokerLiveInfo(now_ms, timeout_ms, live.data_version, None, live.ha_server_addr, doubt=doubt,
                          has_registered=False, announced_by=live.announced_by)  # fmt: skip


def topic_pieces(tables: RouteTables) -> Iterator[list[TopicsPut]]:
    """All topics as if each broker had just registered them, in pieces, for the publisher. Notes them as their
    brokers' topics: until the last piece, no request may change them.
    """
    piece: dict[str, list[TopicChange]] = {}
    entries = 0
    for topic, brokers in tables.topic_queue_table.items():
        add_changes(piece, topic, brokers, TopicChange)
        entries += len(brokers)
        if entries >= PIECE_ENTRIES:
            yield _events(tables, piece)
            piece, entries = {}, 0
    yield _events(tables, piece)


def _events(tables: RouteTables, piece: dict[str, list[TopicChange]]) -> list[TopicsPut]:
    for name, changes in piece.items():
        tables.note_filled(name, changes)
    return [TopicsPut(name, changes, Cause.REGISTER) for name, changes in piece.items()]


def note_topics(tables: RouteTables, broker_name: str, table: TopicTable, now_ms: int) -> bool:
    """Note what a registration names of an unheard group. ``table`` is not applied yet.

    Returns whether the registrations so far may be the whole table: a broker always has a topic of its own name, and
    never only one topic.
    """
    unheard = tables.unheard[broker_name]
    named = table.queues.keys() | set(table.renamed.values())
    if unheard.lacking is None:
        unheard.lacking = {topic for topic in tables.topics_of_broker(broker_name) if topic not in named}
    else:
        unheard.lacking -= named
    unheard.has_several = unheard.has_several or table.topics > 1
    is_whole = unheard.has_several and broker_name not in unheard.lacking
    if is_whole:
        unheard.due_ms = now_ms + PARTS_WITHIN_MS
        if not unheard.lacking:
            del tables.unheard[broker_name]
    return is_whole


def replace_overdue(tables: RouteTables, now_ms: int) -> list[TopicsDeleted]:
    """Remove what no registration named in time."""
    due = [name for name, one in tables.unheard.items() if one.due_ms is not None and one.due_ms <= now_ms]
    events = []
    for name in due:
        lacking = tables.unheard.pop(name).lacking or ()
        gone = [topic for topic in sorted(lacking) if tables.remove_queue_data(topic, name)]
        events += [TopicsDeleted(name, gone, Cause.REGISTER)] if gone else []
    return events
