"""REGISTER_BROKER: RouteInfoManager.registerBroker, its steps in Java's order.

If Java's lock block ends in a NullPointerException (explicit nulls in the body), the steps before it remain and the
answer is a success. The same holds here. Deliberately different: a registration without broker name or address does not
come here, and a topic without a name is ignored. In Java they leave nulls that break the clean-up of other brokers. A
refused registration makes no group, leaves none empty, and no cluster lists its name. In Java they stay for ever.

Every broker registers every 30 s. With the same data version, a registered address and a registered id, a registration
adds the topics that the tables lack, and changes nothing else of topics and mappings. So as long as no queue data was
removed, a body that was applied before is replaced by one without topics. All steps of the registration are still done.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from rocketns.addresses import is_host_of
from rocketns.config import NamesrvConfig
from rocketns.protocol.body.register_broker_body import RegisterBrokerBody, TopicConfigWrapper
from rocketns.protocol.body.route import BrokerData, DataVersion, TopicTable
from rocketns.protocol.codes import MASTER_ID, PERM_WRITE
from rocketns.protocol.headers import RegisterBrokerRequestHeader
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import (
    BrokerConflict,
    BrokerDown,
    BrokerIdsLeft,
    BrokerRefused,
    BrokerRegistered,
    Cause,
    Event,
    GroupChanged,
    MappingsPut,
    MinBrokerIdChanged,
    TopicsDeleted,
    TopicsPut,
)
from rocketns.routeinfo.filling import note_topics
from rocketns.routeinfo.tables import AcceptedBody, BrokerAddrInfo, BrokerLiveInfo, RouteTables, heartbeat_timeout_ms


def may_register_topics(group: BrokerData, broker_id: int, acting: bool | None) -> bool:
    """A master, and the slave with the smallest id of a group whose brokers know acting masters. ``acting``:
    enableActingMaster, None where the broker does not know them.
    """
    return broker_id == MASTER_ID or (acting is not None and broker_id == min(group.broker_addrs))


def repeated_body(
    tables: RouteTables, config: NamesrvConfig, header: RegisterBrokerRequestHeader, fingerprint: Hashable
) -> RegisterBrokerBody | None:
    """The body to register instead of one with this fingerprint. None if the body must be read."""
    entry = tables.live(header.cluster_name, header.broker_addr)
    last = None if entry is None else entry.accepted
    if last is None or last.fingerprint != fingerprint or last.broker_name != header.broker_name:
        return None
    group, broker_id = tables.broker_addr_table.get(last.broker_name), header.broker_id
    if group is None or broker_id is None or group.broker_addrs.get(broker_id) != header.broker_addr:
        return None
    if config.delete_topic_with_broker_registration or last.removals != tables.removals:
        return None
    if not last.topics_applied and may_register_topics(group, broker_id, header.enable_acting_master):
        return None
    return RegisterBrokerBody(TopicConfigWrapper(last.data_version), [] if last.clears_filter_servers else None)


@dataclass(slots=True)
class BrokerRegistration:
    """The fields of a registration of the address ``key``. ``filter_servers`` None changes none of them; ids are longs.

    ``epoch_ms`` is the wall clock, and the time stamp of the data version if the wrapper is null. Equal
    ``body_fingerprint``s mean equal bodies; None is unlike any other. ``announced_by`` is the IP address of the peer,
    None if that is not known. ``principal``: by whose right it registers, None without access control.
    """

    key: BrokerAddrInfo
    broker_name: str
    broker_id: int
    ha_server_addr: str | None
    zone_name: str | None
    timeout_ms: int | None
    enable_acting_master: bool | None
    wrapper: TopicConfigWrapper | None
    filter_servers: list[str | None] | None
    channel: Connection | None
    epoch_ms: int = 0
    body_fingerprint: Hashable = None
    announced_by: str | None = None
    principal: str | None = None


@dataclass(slots=True)
class RegisterBrokerResult:
    """The answer to the broker. ``refused`` is Java's null result: "register broker failed"."""

    ha_server_addr: str | None = None
    master_addr: str | None = None
    refused: bool = False
    events: list[Event] = field(default_factory=list)


def register_broker(
    tables: RouteTables, config: NamesrvConfig, registration: BrokerRegistration, now_ms: int
) -> RegisterBrokerResult:
    """Apply one registration. ``now_ms`` is the clock by which brokers expire."""
    key, name = registration.key, tables.shared_name(registration.broker_name)
    steps = _Registration(tables, config, registration, key, name, tables.broker_live_table.get(key), now_ms)
    # A member registered last with this id, and did not leave: it has only news. Others join the group, if they may.
    is_member = tables.members_of.get(key, {}).get(name) == registration.broker_id
    if (is_member and name not in tables.assumed) or steps.join():
        steps.apply(tables.broker_addr_table[name])
    return steps.result


@dataclass(slots=True)
class _Registration:
    """``former``: the live entry that it replaces. ``is_first``: the id had no address before."""

    tables: RouteTables
    config: NamesrvConfig
    asked: BrokerRegistration
    key: BrokerAddrInfo
    name: str
    former: BrokerLiveInfo | None
    now_ms: int
    is_first: bool = False
    lowers_min_id: bool = False
    topics_applied: bool = False
    maps_others: bool = False
    is_part: bool = False
    result: RegisterBrokerResult = field(default_factory=RegisterBrokerResult)

    def apply(self, group: BrokerData) -> None:
        """The broker is a member of its group."""
        asked, tables = self.asked, self.tables
        self.put_switches(group)
        if asked.wrapper is not None and may_register_topics(group, asked.broker_id, asked.enable_acting_master):
            self.register_topics(group, asked.wrapper)
        self.put_live_entry(asked.wrapper)
        if asked.filter_servers is not None:
            tables.put_filter_servers(self.key, asked.filter_servers)
        if asked.broker_id != MASTER_ID and (
            master := tables.live(self.key.cluster, group.broker_addrs.get(MASTER_ID))
        ):
            # A slave learns its master if that is live in the slave's own cluster.
            self.result.ha_server_addr, self.result.master_addr = master.ha_server_addr, group.broker_addrs[MASTER_ID]
        if self.lowers_min_id:
            self.note_min_broker_id(group)

    def join(self) -> bool:
        """Whether the broker is a member of its group now."""
        asked, tables, group = self.asked, self.tables, self.tables.broker_addr_table.get(self.name)
        is_refused = self.is_refused(group)
        if is_refused and (group is None or [*group.broker_addrs.values()] == [self.key.addr]):
            return False
        tables.changed_groups.add(self.name)
        self.is_first = group is None
        if group is None:
            group = tables.add_group(self.key.cluster, self.name)
        is_switched = self.put_switches(group)
        self.lowers_min_id = asked.broker_id < min(group.broker_addrs, default=MASTER_ID)
        self.leave_other_ids(group)
        if is_refused or self.loses_against_incumbent(group):
            if self.is_first or is_switched:
                self.result.events.append(GroupChanged(self.name))
            return False
        self.is_first |= not group.broker_addrs.get(asked.broker_id)
        tables.put_member(group, asked.broker_id, self.key.addr, self.key.cluster)
        return True

    def put_switches(self, group: BrokerData) -> bool:
        """Whether one of them was another."""
        switches = bool(self.asked.enable_acting_master), self.asked.zone_name
        if switches == (group.enable_acting_master, group.zone_name):
            return False
        group.enable_acting_master, group.zone_name = switches
        self.tables.changed_groups.add(self.name)
        return True

    def leave_other_ids(self, group: BrokerData) -> None:
        """An address has one id in a group: a slave that became master gives up its old id."""
        others = [i for i, addr in group.broker_addrs.items() if addr == self.key.addr and i != self.asked.broker_id]
        for broker_id in others:
            self.tables.remove_member(group, broker_id)
        if others:
            self.result.events.append(BrokerIdsLeft(self.name, self.key.addr, others))

    def loses_against_incumbent(self, group: BrokerData) -> bool:
        """Whether another live address holds the id with a higher stateVersion (or Java would fail comparing)."""
        incumbent_addr = group.broker_addrs.get(self.asked.broker_id)
        if incumbent_addr is None or incumbent_addr == self.key.addr:
            return False
        incumbent = self.tables.live(self.key.cluster, incumbent_addr)
        if incumbent is None:
            return False
        if incumbent.doubt is not None or (incumbent.data_version is None and not incumbent.has_registered):
            self.drop_live_entry(incumbent_addr)  # a broker that registers in its place proves that it is gone
            return False
        wrapper = self.asked.wrapper
        if incumbent.data_version is None or wrapper is None or wrapper.data_version is None:
            return True
        if incumbent.data_version.state_version <= wrapper.data_version.state_version:
            return False
        conflict = BrokerConflict(self.key.cluster, self.name, self.asked.broker_id, incumbent_addr, self.key.addr)
        self.result.events.append(conflict)
        if self.key not in self.tables.members_of:
            self.drop_live_entry(self.key.addr)
        return True

    def drop_live_entry(self, addr: str) -> None:
        """The broker at the address lost its id to this one, or this one to it."""
        entry = self.tables.remove_live_entry(BrokerAddrInfo(self.key.cluster, addr), Cause.CONFLICT)
        if entry is not None:
            gap_ms, broker_id = entry.gap_ms(self.now_ms), self.asked.broker_id
            down = BrokerDown(self.key.cluster, self.name, addr, broker_id, True, gap_ms, Cause.CONFLICT)
            self.result.events.append(down)

    def is_refused(self, group: BrokerData | None) -> bool:
        """Whether a single topic comes from an unregistered id: an increment, too early. A null table is ignored."""
        if group is not None and self.asked.broker_id in group.broker_addrs:
            return False
        table = None if self.asked.wrapper is None else self.asked.wrapper.topic_config_table
        if table is not None and table.topics == 1:
            self.result.refused = True
            self.result.events.append(BrokerRefused(self.name, self.asked.broker_id, self.key.addr))
        return table is None or table.topics == 1

    def register_topics(self, group: BrokerData, wrapper: TopicConfigWrapper) -> None:
        table, mappings = wrapper.topic_config_table, wrapper.topic_queue_mapping_info_map or {}
        if table is None:
            return
        self.topics_applied = True
        if self.config.delete_topic_with_broker_registration and not mappings:
            self.delete_missing_topics(table)
        unheard = self.name in self.tables.unheard
        if unheard:
            self.is_part = not note_topics(self.tables, self.name, table, self.now_ms)
        former_version = None if self.former is None else self.former.data_version
        changed = self.is_first or unheard or former_version is None or former_version != wrapper.data_version
        if mappings and not changed:  # a mapping ended with its topic on the broker, and returns with it
            routes = self.tables.topic_queue_table
            mappings = {topic: info for topic, info in mappings.items() if self.name not in routes.get(topic, ())}
        queues = table.queues
        if self.asked.broker_id != MASTER_ID and group.enable_acting_master:
            # A slave that acts as master takes no messages.
            queues = {topic: data.with_perm(data.perm & ~PERM_WRITE) for topic, data in queues.items()}
        changes = self.tables.put_topics(self.name, queues, table, overwrite=changed)
        if changes:
            self.result.events.append(TopicsPut(self.name, changes, Cause.REGISTER))
        self.maps_others = any(info.bname != self.name for info in mappings.values())
        put = [(topic, info) for topic, info in mappings.items() if self.tables.put_mapping(topic, info)]
        if put:
            self.tables.static_topics.update(topic for topic, _ in put)
            self.result.events.append(MappingsPut(self.name, put))

    def delete_missing_topics(self, table: TopicTable) -> None:
        gone = [topic for topic in self.tables.topics_of_broker(self.name) if topic not in table]
        for topic in gone:
            self.tables.remove_queue_data(topic, self.name)
        if gone:
            self.result.events.append(TopicsDeleted(self.name, gone, Cause.REGISTER))

    def put_live_entry(self, wrapper: TopicConfigWrapper | None) -> None:
        asked, former = self.asked, self.former
        version = DataVersion(0, asked.epoch_ms, 0) if wrapper is None else wrapper.data_version
        timeout_ms, gap_ms, doubt, announcer = heartbeat_timeout_ms(asked.timeout_ms), None, None, asked.announced_by
        if self.is_part:  # the other topics may be older than this version
            version = None if former is None else former.data_version
        if former is not None:
            gap_ms, doubt = former.gap_ms(self.now_ms), former.doubt
            # A host that announced its own address stays its announcer, whoever announces the address later.
            if former.announced_by != announcer and is_host_of(self.key.addr, former.announced_by):
                announcer = former.announced_by
        accepted, named = None, None if wrapper is None else wrapper.data_version
        # How to recognise the same body, unless it may mean something else the next time (it names no time, or another
        # broker, which may have the topic then), or is unusual.
        is_unusual = asked.filter_servers or self.maps_others
        if asked.body_fingerprint and named and not is_unusual and named.timestamp != asked.epoch_ms:
            clears, removals = asked.filter_servers is not None, self.tables.removals
            accepted = AcceptedBody(asked.body_fingerprint, self.name, named, clears, self.topics_applied, removals)
        entry = BrokerLiveInfo(
            self.now_ms, timeout_ms, version, asked.channel, asked.ha_server_addr, accepted,
            announced_by=announcer, principal=asked.principal,
        )  # fmt: skip
        self.tables.put_live_entry(self.key, entry)
        if doubt is not None or self.tables.unnamed:
            self.tables.note_named(self.key, self.name, doubt)
        self.result.events.append(BrokerRegistered(
            self.key.cluster, self.name, self.key.addr, asked.broker_id, asked.ha_server_addr, version, timeout_ms,
            gap_ms, doubt, announcer,
        ))  # fmt: skip

    def note_min_broker_id(self, group: BrokerData) -> None:
        """chooseBrokerAddrsToNotify: everyone but the newcomer, or the newcomer itself where it is alone."""
        addrs, newcomer = group.broker_addrs, self.asked.broker_id
        others = [addr for broker_id, addr in addrs.items() if broker_id != newcomer]
        ha_addr = self.asked.ha_server_addr
        receivers = others or [self.key.addr]
        self.result.events.append(MinBrokerIdChanged(self.name, newcomer, self.key.addr, None, ha_addr, receivers))
