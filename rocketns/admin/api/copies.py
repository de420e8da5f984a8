"""What control copies for the API, in slices: see `ControlView.copy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from rocketns.admin.api.rows import (
    BrokerStateRow,
    ConnectionRow,
    KvRow,
    MissingRow,
    State,
    TopicRow,
    ViewRow,
)
from rocketns.admin.recent import DOUBTED
from rocketns.processor.context import Now
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.protocol.codes import MASTER_ID, PERM_WRITE, version_name
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.facts import Facts
from rocketns.server.missing.asked import AskedTopic
from rocketns.server.missing.watching import creating_groups, why_missing
from rocketns.views.checking import view_named

ROWS_AT_ONCE = 16
VALUE_CHARACTERS_MAX = 4096
NAMED_BROKERS_MAX = 16
Key = TypeVar("Key")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class BrokersCopy:
    """All brokers by group and id, and the groups."""

    rows: tuple[BrokerStateRow, ...]
    groups: int
    masterless: tuple[str, ...]


def _sliced(keys: Iterable[Key], rows: Callable[[list[Key]], Iterable[Row]]) -> Generator[None, None, tuple[Row, ...]]:
    """The rows of a table's keys, a few in each step. Between two steps any key may leave the table."""
    made: list[Row] = []
    waiting = iter(list(keys))
    while some := list(islice(waiting, ROWS_AT_ONCE)):
        made += rows(some)
        yield
    return tuple(made)


def copy_brokers(facts: Facts) -> Generator[None, None, BrokersCopy]:
    """All brokers of the routes. Sorting many would take too long in one step."""
    table, now = facts.tables.broker_addr_table, facts.now()
    rows: list[BrokerStateRow] = []
    masterless: list[str] = []
    names = list(table)
    for name in names:
        if group := table.get(name):
            if group.broker_addrs and MASTER_ID not in group.broker_addrs:
                masterless.append(name)
            rows += yield from _members(facts, group, now)
        yield
    return BrokersCopy(tuple(rows), len(names), tuple(masterless))


def _members(facts: Facts, group: BrokerData, now: Now) -> Generator[None, None, tuple[BrokerStateRow, ...]]:
    addrs = group.broker_addrs
    ids = sorted(addrs) if len(addrs) <= ROWS_AT_ONCE else addrs
    return _sliced(ids, lambda some: [_broker_row(facts, group, one, now) for one in some if one in addrs])


def _broker_row(facts: Facts, group: BrokerData, broker_id: int, now: Now) -> BrokerStateRow:
    addr = group.broker_addrs[broker_id]
    live = facts.tables.live(group.cluster, addr)
    channel = None if live is None else live.channel
    version = None if channel is None else channel.version
    doubt = None if live is None else live.doubt
    silent_ms = None if live is None else live.gap_ms(now.ms)
    return BrokerStateRow(
        cluster=group.cluster,
        broker=group.broker_name,
        id=broker_id,
        address=addr,
        role="master" if broker_id == MASTER_ID else "slave",
        zone=group.zone_name,
        state="gone" if live is None else state_of(live, now.ms),
        unconfirmed=None if doubt is None else doubt.reason,
        why=None if doubt is None else DOUBTED[doubt.reason],
        last_heartbeat=(
            now.epoch_ms - silent_ms if silent_ms is not None else None if doubt is None else doubt.seen_epoch_ms
        ),
        silent_ms=silent_ms,
        late_ms=None if live is None else live.late_ms,
        timeout_ms=None if live is None else live.timeout_ms,
        version=version,
        version_name=None if version is None else version_name(version),
        connection=None if channel is None else channel.address,
        ha_address=None if live is None else live.ha_server_addr,
        view=None if channel is None or (view := facts.context.views.through(channel)) is None else view.name,
    )


def state_of(live: BrokerLiveInfo, now_ms: int) -> State:
    """Of a broker that is in the routes."""
    return "unconfirmed" if live.doubt is not None else "late" if live.is_late(now_ms) else "live"


def copy_topics(facts: Facts) -> Generator[None, None, tuple[TopicRow, ...]]:
    """All topics, by name only: `add_queues` counts the queues of those that are shown."""
    table = facts.tables.topic_queue_table
    return _sliced(table, lambda some: [TopicRow(name, len(table[name])) for name in some if name in table])


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
    creates = bool(creating_groups(facts.tables))
    return _sliced(
        list(facts.asked.all_missing()), lambda some: [_missing_row(facts, one, creates=creates) for one in some]
    )


def _missing_row(facts: Facts, one: AskedTopic, *, creates: bool) -> MissingRow:
    return MissingRow(
        topic=one.topic,
        since_ms=one.since_epoch_ms,
        last_ms=one.last_epoch_ms,
        lookups=one.lookups,
        peers=one.latest_peers(),
        nearest=one.nearest,
        reason=why_missing(facts.tables, one.topic, creates=creates),
    )


def copy_connections(facts: Facts) -> Generator[None, None, tuple[ConnectionRow, ...]]:
    """All connections of the name server port."""
    owned = facts.tables.owned
    return _sliced(
        facts.transport.connections,
        lambda some: [_connection_row(one, owned.get(one, {})) for one in some if not one.has_ended],
    )


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


def copy_kv(facts: Facts) -> Generator[None, None, list[KvRow]]:
    """All items of the KV configuration."""
    rows: list[KvRow] = []
    for namespace in list(facts.kv):
        rows += yield from _sliced(facts.kv.get(namespace, {}).items(), partial(_kv_rows, namespace))
    return rows


def _kv_rows(namespace: str, items: list[tuple[str, str | None]]) -> list[KvRow]:
    return [KvRow(namespace, key, value and value[:VALUE_CHARACTERS_MAX], len(value or "")) for key, value in items]


@dataclass(frozen=True, slots=True)
class RouteCopy:
    """A route that nobody changes any more."""

    data: TopicRouteData
    mappings: int
    order: str | None
    view: str | None = None


def copy_route(facts: Facts, topic: str, who: str | None = None) -> RouteCopy | None:
    """A look: the route of a topic, None if it has none; as ``who`` gets it, see `view_named`. LookupError."""
    view = None if who is None else view_named(facts.context.views, who)
    data = pick_up_route(facts.tables, facts.configuration.namesrv, topic, None if view is None else view.show)
    if data is None:
        return None
    mappings = len(data.topic_queue_mapping_by_broker or ())
    data.topic_queue_mapping_by_broker = None  # it is a table of control's
    return RouteCopy(data, mappings, facts.order_of(topic), None if view is None else view.name)


def copy_views(facts: Facts) -> Generator[None, None, list[ViewRow]]:
    """All views, with how many addresses each maps."""
    views, mapped, every = facts.context.views, Counter[str](), 0
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
