"""What control copies for the API, row by row: see `rocketns/admin/view.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rocketns.admin.api.rows import BrokerStateRow, ConnectionRow, KvRow, MissingRow, State, TopicRow, ViewRow
from rocketns.admin.recent import DOUBTED
from rocketns.fleet.missing import creating_groups, why_missing
from rocketns.processor.context import Now
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.codes import MASTER_ID, PERM_WRITE, version_name
from rocketns.server.facts import Facts

KV_CHARACTERS_MAX = 4096
GROUPS_MAX = 100  # that are named
WIPED_CHARACTERS_MAX = 4_000  # of the names before the last one
NAMED_BROKERS_MAX = 16


def copy_brokers(facts: Facts) -> Iterator[BrokerStateRow]:
    """All brokers of the routes, by group and id."""
    table, now = facts.tables.broker_addr_table, facts.now()
    for name in list(table):
        if group := table.get(name):
            for broker_id in sorted(group.broker_addrs):
                if broker_id in group.broker_addrs:
                    yield _broker_row(facts, group, broker_id, now)


def _broker_row(facts: Facts, group: BrokerData, broker_id: int, now: Now) -> BrokerStateRow:
    addr = group.broker_addrs[broker_id]
    live = facts.tables.live(group.cluster, addr)
    channel = None if live is None else live.channel
    version = None if channel is None else channel.version
    doubt = None if live is None else live.doubt
    silent_ms = None if live is None else live.gap_ms(now.ms)
    state: State = "gone" if live is None else "unconfirmed" if doubt else "late" if live.is_late(now.ms) else "live"
    return BrokerStateRow(
        cluster=group.cluster,
        broker=group.broker_name,
        id=broker_id,
        address=addr,
        role="master" if broker_id == MASTER_ID else "slave",
        zone=group.zone_name,
        state=state,
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


def copy_topics(facts: Facts) -> Iterator[TopicRow]:
    """All topics, by name only: `with_queues` counts the queues of those that are shown."""
    table = facts.tables.topic_queue_table
    for name in list(table):
        if name in table:
            yield TopicRow(name, len(table[name]))


def topics_of(rows: Sequence[TopicRow], broker: str, facts: Facts) -> Iterator[TopicRow | None]:
    """Those that a broker group has."""
    table = facts.tables.topic_queue_table
    for row in rows:
        yield row if broker in table.get(row.topic, ()) else None


def with_queues(rows: Sequence[TopicRow], facts: Facts) -> Iterator[TopicRow]:
    """The rows with the sums of their queues."""
    for row in rows:
        queues = facts.tables.topic_queue_table.get(row.topic, {}).values()
        yield replace(
            row,
            read_queues=sum(one.read_queue_nums for one in queues),
            write_queues=sum(one.write_queue_nums for one in queues),
            not_writable=sum(not one.perm & PERM_WRITE for one in queues),
        )


def copy_missing(facts: Facts) -> Iterator[MissingRow]:
    """The topics that were asked for and have no route."""
    creates = bool(creating_groups(facts.tables))
    for one in list(facts.asked.all_missing()):
        yield MissingRow(
            topic=one.topic,
            since_ms=one.since_epoch_ms,
            last_ms=one.last_epoch_ms,
            lookups=one.lookups,
            peers=one.latest_peers(),
            nearest=one.nearest,
            reason=why_missing(facts.tables, one.topic, creates=creates),
        )


def copy_connections(facts: Facts) -> Iterator[ConnectionRow]:
    """All connections of the name server port."""
    for one in list(facts.transport.connections):
        if not one.has_ended:
            yield ConnectionRow(
                peer=one.address,
                tls=one.is_tls,
                language=one.language,
                version=one.version,
                version_name=None if one.version is None else version_name(one.version),
                since=one.since_epoch_ms,
                requests=one.requests,
                waiting=one.in_flight,
                brokers=tuple(key.addr for key in islice(facts.tables.owned.get(one, ()), NAMED_BROKERS_MAX)),
            )


def copy_kv(facts: Facts) -> Iterator[KvRow]:
    """All items of the KV configuration."""
    for namespace in list(facts.kv):
        for key, value in list(facts.kv.get(namespace, {}).items()):
            yield KvRow(namespace, key, value and value[:KV_CHARACTERS_MAX], len(value or ""))


def copy_views(facts: Facts) -> Iterator[ViewRow]:
    """All views."""
    lookups, sizes = facts.lookups_of_views, facts.bytes_of_views
    for view in facts.context.views:
        yield ViewRow(
            view=view.name,
            networks=tuple(map(str, view.networks)),
            listen=view.listen,
            rules=len(view.mapping),
            lookups=lookups.get(view.name, 0),
            bytes=sizes.get(view.name, 0),
        )


def closed_groups(facts: Facts) -> Iterator[str | None]:
    """The groups without a topic that may be written, at most GROUPS_MAX, fewer where their names are long."""
    table, groups = facts.tables.topic_queue_table, facts.tables.broker_addr_table
    closed: set[str] = set()
    open_: set[str] = set()
    for topic in list(table):
        for name, one in table.get(topic, {}).items():
            (open_ if one.perm & PERM_WRITE else closed).add(name)
        yield None
    room = WIPED_CHARACTERS_MAX
    for name in sorted(name for name in closed - open_ if name in groups)[:GROUPS_MAX]:
        if room > 0:
            yield name
        room -= len(name)
