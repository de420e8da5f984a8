"""From known routes to tables: every broker is live and unconfirmed."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns._fast.routes.queue_table import add_changes
from rocketns.protocol.body.route import BrokerData
from rocketns.routeinfo.doubt import Doubt, Reason, Unheard
from rocketns.routeinfo.events import Cause, TopicChange, TopicsPut
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unconfirmed.known import KnownBroker, KnownGroup, KnownRoutes

# Entries of one piece of `topic_pieces`: some milliseconds of work.
PIECE_ENTRIES = 16_384


def fill(tables: RouteTables, known: KnownRoutes, reason: Reason, now_ms: int, confirm_ms: int) -> None:
    """Put known routes into empty tables. Each broker has ``confirm_ms`` for its first sign of life."""
    for name, group in known.groups.items():
        _put_group(tables, name, group)
        for broker in _latest(tables, group):
            doubt = Doubt(reason, now_ms, now_ms + confirm_ms, broker.seen_epoch_ms)
            _put_live_entry(tables, broker, doubt, now_ms)
        tables.unheard[name] = Unheard()
    tables.filled += len(tables.unconfirmed)
    tables.topic_queue_table.update(known.topics)
    tables.topic_queue_mapping_info_table.update(known.mappings)
    tables.static_topics.update(known.mappings)


def _put_group(tables: RouteTables, name: str, group: KnownGroup) -> None:
    data = BrokerData(group.cluster, name, {}, group.zone_name, group.enable_acting_master)
    tables.broker_addr_table[name] = data
    tables.changed_groups.add(name)
    for cluster in {group.cluster, *(broker.cluster for broker in group.brokers.values())}:
        tables.cluster_addr_table.setdefault(cluster, set()).add(name)
    for broker_id, broker in group.brokers.items():
        for other in [i for i, addr in data.broker_addrs.items() if addr == broker.addr]:
            tables.remove_member(data, other)  # lost records: an address has one id in a group
        tables.put_member(data, broker_id, broker.addr)


def _latest(tables: RouteTables, group: KnownGroup) -> Iterator[KnownBroker]:
    """The brokers of a group but those whose address was heard later in another group: it has one live entry."""
    for broker in group.brokers.values():
        entry = tables.live(broker.cluster, broker.addr)
        seen_epoch_ms = None if entry is None or entry.doubt is None else entry.doubt.seen_epoch_ms
        if seen_epoch_ms is None or seen_epoch_ms <= broker.seen_epoch_ms:
            yield broker


def _put_live_entry(tables: RouteTables, broker: KnownBroker, doubt: Doubt, now_ms: int) -> None:
    key = BrokerAddrInfo(broker.cluster, broker.addr)
    entry = BrokerLiveInfo(now_ms, broker.timeout_ms, broker.data_version, None, broker.ha_server_addr, doubt=doubt,
                           has_registered=False)  # fmt: skip
    tables.put_live_entry(key, entry)
    tables.put_filter_servers(key, broker.filter_servers)


def topic_pieces(tables: RouteTables) -> Iterator[list[TopicsPut]]:
    """All topics as if each broker had just registered them, in pieces. For the publisher alone."""
    piece: dict[str, list[TopicChange]] = {}
    entries = 0
    for topic, brokers in tables.topic_queue_table.items():
        add_changes(piece, topic, brokers, TopicChange)
        entries += len(brokers)
        if entries >= PIECE_ENTRIES:
            yield _events(piece)
            piece, entries = {}, 0
    yield _events(piece)


def _events(piece: dict[str, list[TopicChange]]) -> list[TopicsPut]:
    return [TopicsPut(name, changes, Cause.REGISTER) for name, changes in piece.items()]
