"""From known routes to tables: every broker is live and unconfirmed."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns._fast.routes.queue_table import add_changes
from rocketns.routeinfo.doubt import Doubt, Reason, Unheard
from rocketns.routeinfo.events import Cause, TopicChange, TopicsPut
from rocketns.routeinfo.tables import (
    DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS,
    HEARTBEAT_TIMEOUT_MS_MAX,
    BrokerAddrInfo,
    BrokerLiveInfo,
    RouteTables,
)
from rocketns.routeinfo.unconfirmed.known import KnownGroup, KnownLive, KnownRoutes

# Entries of one piece of `topic_pieces`: some milliseconds of work.
PIECE_ENTRIES = 16_384


def fill(tables: RouteTables, known: KnownRoutes, reason: Reason, now_ms: int, confirm_ms: int) -> None:
    """Put known routes into empty tables. Each broker has ``confirm_ms`` for its first sign of life.

    An address of a group without a live entry gets one, without a data version: it would stay for ever otherwise.
    Groups without members, which Java and older journals have, are left out.
    """
    for name, group in known.groups.items():
        if group.brokers:
            _put_group(tables, name, group)
            tables.unheard[name] = Unheard()
    for (cluster, addr), live in known.lives.items():
        key = BrokerAddrInfo(cluster, addr)
        if live.timeout_ms is not None or live.members:
            doubt = Doubt(reason, now_ms, now_ms + confirm_ms, live.seen_epoch_ms)
            tables.put_live_entry(key, _live_entry(live, doubt, now_ms))
        tables.put_filter_servers(key, live.filter_servers)
    tables.filled += len(tables.unconfirmed)
    tables.topic_queue_table.update(known.topics)
    for topic, infos in known.mappings.items():
        for info in infos.values():
            tables.put_mapping(topic, info)
    tables.static_topics.update(known.mappings)


def _put_group(tables: RouteTables, name: str, group: KnownGroup) -> None:
    data = tables.add_group(group.cluster, name)
    data.zone_name, data.enable_acting_master = group.zone_name, group.enable_acting_master
    tables.changed_groups.add(name)
    for broker_id, broker in group.brokers.items():
        for other in [i for i, addr in data.broker_addrs.items() if addr == broker.addr]:
            tables.remove_member(data, other)  # lost records: an address has one id in a group
        tables.put_member(data, broker_id, broker.addr, broker.cluster)
    tables.assumed.add(name)


def _live_entry(live: KnownLive, doubt: Doubt, now_ms: int) -> BrokerLiveInfo:
    given_ms = DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS if live.timeout_ms is None else live.timeout_ms
    timeout_ms = min(given_ms, HEARTBEAT_TIMEOUT_MS_MAX)
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
