"""What control copies for the API, in slices: see `ControlView.copy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rocketns.admin.api.rows import (
    BrokerStateRow,
    ConnectionRow,
    KvRow,
    LimitRow,
    MissingRow,
    PropertyRow,
    State,
    TopicRow,
    ViewRow,
)
from rocketns.admin.recent import DOUBTED
from rocketns.config import Configuration, properties
from rocketns.config.limits import FRAME_MAX_LENGTH
from rocketns.config.properties import PREFIX
from rocketns.processor.context import Now
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.protocol.codes import MASTER_ID, PERM_WRITE, version_name
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.facts import Facts
from rocketns.server.missing.asked import AskedTopic
from rocketns.server.missing.watching import creating_groups, why_missing
from rocketns.views.checking import view_named
from rocketns.views.views import Views

ROWS_AT_ONCE = 16
VALUE_CHARACTERS_MAX = 4096
NAMED_BROKERS_MAX = 16


@dataclass(frozen=True, slots=True)
class BrokersCopy:
    """All brokers by group and id, and the groups."""

    rows: tuple[BrokerStateRow, ...]
    groups: int
    masterless: tuple[str, ...]


def copy_brokers(facts: Facts) -> Generator[None, None, BrokersCopy]:
    """All brokers of the routes. Sorting many would take too long in one step."""
    tables, now = facts.tables, facts.now()
    rows: list[BrokerStateRow] = []
    masterless: list[str] = []
    names = list(tables.broker_addr_table)
    for name in names:
        group = tables.broker_addr_table.get(name)
        if group is not None:
            if group.broker_addrs and MASTER_ID not in group.broker_addrs:
                masterless.append(name)
            yield from _add_rows(rows, facts, group, now)
        yield
    return BrokersCopy(tuple(rows), len(names), tuple(masterless))


def _add_rows(rows: list[BrokerStateRow], facts: Facts, group: BrokerData, now: Now) -> Generator[None, None, None]:
    tables, views = facts.tables, facts.views
    ids = iter(sorted(group.broker_addrs) if len(group.broker_addrs) <= ROWS_AT_ONCE else list(group.broker_addrs))
    while some := list(islice(ids, ROWS_AT_ONCE)):
        there = [broker_id for broker_id in some if broker_id in group.broker_addrs]
        rows += [_broker_row(tables, group, broker_id, now, views) for broker_id in there]
        yield


def _broker_row(tables: RouteTables, group: BrokerData, broker_id: int, now: Now, views: Views) -> BrokerStateRow:
    addr = group.broker_addrs[broker_id]
    live = tables.live(group.cluster, addr)
    channel = None if live is None else live.channel
    version = None if channel is None else channel.version
    silent_ms = None if live is None else live.gap_ms(now.ms)
    return BrokerStateRow(
        cluster=group.cluster,
        broker=group.broker_name,
        id=broker_id,
        address=addr,
        role="master" if broker_id == MASTER_ID else "slave",
        zone=group.zone_name,
        state=_state(live, now.ms),
        unconfirmed=None if live is None or live.doubt is None else live.doubt.reason,
        why=None if live is None or live.doubt is None else DOUBTED[live.doubt.reason],
        since=None,
        last_heartbeat=_last_heartbeat(live, silent_ms, now),
        silent_ms=silent_ms,
        late_ms=None if live is None else live.late_ms,
        timeout_ms=None if live is None else live.timeout_ms,
        version=version,
        version_name=None if version is None else version_name(version),
        connection=None if channel is None else channel.address,
        ha_address=None if live is None else live.ha_server_addr,
        view=None if channel is None or (view := views.through(channel)) is None else view.name,
    )


def _state(live: BrokerLiveInfo | None, now_ms: int) -> State:
    if live is None:
        return "gone"
    if live.doubt is not None:
        return "unconfirmed"
    return "late" if live.is_late(now_ms) else "live"


def _last_heartbeat(live: BrokerLiveInfo | None, silent_ms: int | None, now: Now) -> int | None:
    if silent_ms is not None:
        return now.epoch_ms - silent_ms
    return None if live is None or live.doubt is None else live.doubt.seen_epoch_ms


def copy_topics(facts: Facts) -> Generator[None, None, tuple[TopicRow, ...]]:
    """All topics, by name only: `add_queues` counts the queues of those that are shown."""
    table = facts.tables.topic_queue_table
    rows: list[TopicRow] = []
    names = iter(list(table))
    while some := list(islice(names, ROWS_AT_ONCE)):
        rows += [TopicRow(name, len(table[name])) for name in some if name in table]
        yield
    return tuple(rows)


def topics_of(facts: Facts, rows: Sequence[TopicRow], broker: str) -> list[TopicRow]:
    """A look: those that a broker group has."""
    table = facts.tables.topic_queue_table
    return [row for row in rows if broker in table.get(row.topic, ())]


def add_queues(facts: Facts, rows: list[TopicRow]) -> list[TopicRow]:
    """A look: the rows with the sums of their queues."""
    table = facts.tables.topic_queue_table
    return [_with_sums(row, table.get(row.topic, {}).values()) for row in rows]


def _with_sums(row: TopicRow, queues: object) -> TopicRow:
    read = write = closed = 0
    for reads, writes, perm, _ in queues:  # type: ignore[attr-defined]
        read += reads
        write += writes
        closed += not perm & PERM_WRITE
    return replace(row, read_queues=read, write_queues=write, not_writable=closed)


def copy_missing(facts: Facts) -> Generator[None, None, tuple[MissingRow, ...]]:
    """The topics that were asked for and have no route."""
    creating = len(creating_groups(facts.tables))
    rows: list[MissingRow] = []
    topics = iter(facts.asked_topics())
    while some := list(islice(topics, ROWS_AT_ONCE)):
        rows += [_missing_row(facts, one, creating) for one in some]
        yield
    return tuple(rows)


def _missing_row(facts: Facts, one: AskedTopic, creating: int) -> MissingRow:
    return MissingRow(
        topic=one.topic,
        since_ms=one.since_epoch_ms,
        last_ms=one.last_epoch_ms,
        lookups=one.lookups,
        peers=one.latest_peers(),
        nearest=one.nearest,
        brokers_that_create=creating,
        reason=why_missing(facts.tables, one.topic, creates=creating > 0),
    )


def copy_connections(facts: Facts) -> Generator[None, None, tuple[ConnectionRow, ...]]:
    """All connections of the name server port."""
    owned = facts.tables.owned
    rows: list[ConnectionRow] = []
    waiting = iter(list(facts.transport.connections))
    while some := list(islice(waiting, ROWS_AT_ONCE)):
        rows += [
            _connection_row(connection, owned.get(connection, {})) for connection in some if not connection.has_ended
        ]
        yield
    return tuple(rows)


def _connection_row(connection: Connection, brokers: dict[BrokerAddrInfo, None]) -> ConnectionRow:
    return ConnectionRow(
        peer=connection.address,
        tls=connection.is_tls,
        language=connection.language,
        version=connection.version,
        version_name=None if connection.version is None else version_name(connection.version),
        since=connection.since_epoch_ms,
        requests=connection.requests,
        waiting=connection.in_flight,
        brokers=tuple(key.addr for key in islice(brokers, NAMED_BROKERS_MAX)),
    )


def copy_kv(facts: Facts) -> Generator[None, None, tuple[KvRow, ...]]:
    """All items of the KV configuration."""
    table = facts.kv
    rows: list[KvRow] = []
    for namespace in list(table):
        items = iter(list(table.get(namespace, {}).items()))
        while some := list(islice(items, ROWS_AT_ONCE)):
            rows += [_kv_row(namespace, key, value) for key, value in some]
            yield
    return tuple(rows)


def _kv_row(namespace: str, key: str, value: str | None) -> KvRow:
    shown = None if value is None else value[:VALUE_CHARACTERS_MAX]
    return KvRow(namespace, key, shown, len(value or ""))


@dataclass(frozen=True, slots=True)
class RouteCopy:
    """A route that nobody changes any more."""

    data: TopicRouteData
    mappings: int
    order: str | None
    view: str | None = None


def copy_route(facts: Facts, topic: str, who: str | None = None) -> RouteCopy | None:
    """A look: the route of a topic, None if it has none; as ``who`` gets it, see `view_named`. LookupError."""
    view = None if who is None else view_named(facts.views, who)
    data = pick_up_route(facts.tables, facts.configuration.namesrv, topic, None if view is None else view.show)
    if data is None:
        return None
    mappings = len(data.topic_queue_mapping_by_broker or ())
    data.topic_queue_mapping_by_broker = None  # it is a table of control's
    return RouteCopy(data, mappings, facts.order_of(topic), None if view is None else view.name)


def copy_views(facts: Facts) -> Generator[None, None, list[ViewRow]]:
    """All views, with how many addresses each maps."""
    views, mapped, every = facts.views, Counter[str](), 0
    for name in list(facts.tables.broker_addr_table) if views else ():
        if (group := facts.tables.broker_addr_table.get(name)) is not None:
            every += len(group.broker_addrs)
            for view in views:
                found = [view.mapping.find(name, one, addr) for one, addr in group.broker_addrs.items()]
                mapped[view.name] += len(found) - found.count(None)
            yield
    lookups, sizes = facts.lookups_of_views, facts.bytes_of_views
    return [
        ViewRow(view.name, tuple(map(str, view.networks)), view.listen, len(view.mapping), mapped[view.name],
                every - mapped[view.name], lookups.get(view.name, 0), sizes.get(view.name, 0))
        for view in views
    ]  # fmt: skip


def property_rows(facts: Facts) -> list[PropertyRow]:
    """A look: all properties. Those that Java does not have come with their prefix."""
    items = facts.configuration.items() | facts.configuration.own_items()
    return [PropertyRow(name, None if properties.is_secret(name) else text) for name, text in items.items()]


def limit_rows(configuration: Configuration) -> list[LimitRow]:
    """Any thread: the limits do not change after the start."""
    limits = configuration.limits
    rows = [_limit_row(name, getattr(limits, one.name), one.metadata) for name, one in
            properties.declared(limits).items()]  # fmt: skip
    frame = LimitRow(FRAME_MAX_LENGTH, limits.frame_bytes_max, "bytes", "one frame", "the connection is closed")
    return [frame, *rows]


def _limit_row(name: str, value: int, metadata: Any) -> LimitRow:
    return LimitRow(f"{PREFIX}{name}", value, metadata["unit"], metadata["doc"], metadata["at_limit"])
