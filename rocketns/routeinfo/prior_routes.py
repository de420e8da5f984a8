"""Routes that were known elsewhere, or before: what a start puts into its empty tables.

A journal has names that no broker may register if the bound was larger when it was written, and another name server if
it has no bound. They are left out, and the rest is put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo
from rocketns.protocol.names import is_too_long


@dataclass(slots=True)
class PriorLive:
    """The live entry of an address in a cluster, and its filter servers. ``timeout_ms`` None: there is no entry.

    ``announced_by``: the host that registered it, None if that is not known. ``seen_epoch_ms``: the last sign of life
    on the wall clock. ``members``: how many groups list the address.
    """

    timeout_ms: int | None = None
    ha_server_addr: str | None = None
    data_version: DataVersion | None = None
    seen_epoch_ms: int = 0
    announced_by: str | None = None
    filter_servers: list[str | None] = field(default_factory=list)
    members: int = 0

    def put(
        self, timeout_ms: int | None, ha_server_addr: str | None, data_version: DataVersion | None, epoch_ms: int,
        announced_by: str | None = None,
    ) -> None:  # fmt: skip
        """There is an entry now; with ``timeout_ms`` None there is none any more."""
        self.timeout_ms, self.ha_server_addr, self.announced_by = timeout_ms, ha_server_addr, announced_by
        self.data_version, self.seen_epoch_ms = data_version, epoch_ms


@dataclass(slots=True, frozen=True)
class PriorBroker:
    """An address of a group, the cluster that it registered with, and what it said last."""

    cluster: str
    addr: str
    live: PriorLive


@dataclass(slots=True)
class PriorGroup:
    """The brokers of one name by id. ``cluster`` is the group's own. Zone and switch are those that the last
    registration of a broker said. A Java name server may have groups without brokers.
    """

    cluster: str
    zone_name: str | None = None
    enable_acting_master: bool = False
    brokers: dict[int, PriorBroker] = field(default_factory=dict)


@dataclass(slots=True)
class PriorRoutes:
    """Groups, topics and static topics by name; live entries by cluster and address."""

    groups: dict[str, PriorGroup] = field(default_factory=dict)
    topics: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    mappings: dict[str, dict[str | None, TopicQueueMappingInfo]] = field(default_factory=dict)
    lives: dict[tuple[str, str], PriorLive] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.groups or self.topics or self.mappings or self.lives)

    def put_group(self, name: str, cluster: str) -> PriorGroup:
        """There is a group of this name, with this cluster of its own."""
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = PriorGroup(cluster)
        group.cluster = cluster
        return group

    def remove_group(self, name: str) -> None:
        """There is no group of this name, unless it has brokers."""
        group = self.groups.get(name)
        if group is not None and not group.brokers:
            del self.groups[name]

    def put_broker(self, name: str, broker_id: int, cluster: str, addr: str, group_cluster: str) -> PriorLive:
        """The address has the id. ``group_cluster``: of a new group. The caller fills the live entry."""
        group = self.groups.get(name)
        if group is None:
            group = self.put_group(name, group_cluster)
        former = group.brokers.get(broker_id)
        if former is not None and (former.cluster, former.addr) == (cluster, addr):
            return former.live
        if former is not None:
            self._release(former)
        live = self.lives.setdefault((cluster, addr), PriorLive())
        live.members += 1
        group.brokers[broker_id] = PriorBroker(cluster, addr, live)
        return live

    def remove_broker(self, name: str, broker_id: int, cluster: str, addr: str) -> None:
        """The address does not have the id any more. The last broker takes the group along, an address in no group its
        live entry.
        """
        group = self.groups.get(name)
        broker = None if group is None else group.brokers.get(broker_id)
        if group is not None and broker is not None and broker.addr == addr:
            del group.brokers[broker_id]
            self._release(broker)
        elif (cluster, addr) in self.lives and not self.lives[cluster, addr].members:
            del self.lives[cluster, addr]
        self.remove_group(name)

    def _release(self, broker: PriorBroker) -> None:
        broker.live.members -= 1
        if not broker.live.members:
            del self.lives[broker.cluster, broker.addr]

    def drop_unused_live(self, cluster: str, addr: str) -> None:
        """Forget the address if it has no live entry, no filter servers and no group."""
        live = self.lives.get((cluster, addr))
        if live is not None and live.timeout_ms is None and not live.filter_servers and not live.members:
            del self.lives[cluster, addr]

    def delete_topic(self, broker_name: str, topic: str) -> None:
        """The topic has no queues on the broker, and no mapping."""
        _drop(self.topics, topic, broker_name)
        _drop(self.mappings, topic, broker_name)

    def forget_brokers(self, before_epoch_ms: int) -> None:
        """Leave out the brokers whose last sign of life is older, and the groups and topics that only they had."""
        self.remove_brokers(lambda _, broker: broker.live.seen_epoch_ms < before_epoch_ms)
        for key, live in list(self.lives.items()):
            if live.seen_epoch_ms < before_epoch_ms and not live.members:
                del self.lives[key]

    def remove_brokers(self, is_gone: Callable[[str, PriorBroker], bool]) -> None:
        """Such brokers, by the names of their groups, and the groups and topics that only they had."""
        for name, group in list(self.groups.items()):
            for broker_id, broker in list(group.brokers.items()):
                if is_gone(name, broker):
                    self.remove_broker(name, broker_id, broker.cluster, broker.addr)
        for topic, brokers in list(self.topics.items()):
            for name in brokers.keys() - self.groups.keys():
                self.delete_topic(name, topic)

    def forget_versions(self, broker_name: str | None = None) -> None:
        """Forget the data versions of one group, or of all. Its brokers send all their topics when they next ask."""
        if broker_name is None:
            for live in self.lives.values():
                live.data_version = None
        elif broker_name in self.groups:
            for broker in self.groups[broker_name].brokers.values():
                broker.live.data_version = None


def _drop(table: dict[str, dict[Any, Any]], topic: str, broker_name: str | None) -> None:
    of_brokers = table.get(topic)
    if of_brokers is not None:
        of_brokers.pop(broker_name, None)
        if not of_brokers:
            del table[topic]


def leave_out_long_names(prior: PriorRoutes, most: int) -> int:
    """Remove the groups, brokers, topics, filter servers and mappings with a name of more than ``most`` bytes.

    Returns how many. Topics and mappings of a removed group are not counted.
    """

    def is_long(*texts: str | None) -> bool:
        return any(text is not None and is_too_long(text, most) for text in texts)

    groups = {name for name, one in prior.groups.items() if is_long(name, one.cluster, one.zone_name)}
    for name in groups:
        prior.remove_group(name)
    if groups:
        prior.remove_brokers(lambda name, _: name in groups)
    lives = {key for key, live in prior.lives.items() if is_long(*key, live.ha_server_addr)}
    if lives:
        prior.remove_brokers(lambda _, broker: (broker.cluster, broker.addr) in lives)
    prior.lives = {key: live for key, live in prior.lives.items() if key not in lives}
    count = len(groups) + len(lives)
    for live in prior.lives.values():
        servers = [server for server in live.filter_servers if not is_long(server)]
        count += len(live.filter_servers) - len(servers)
        live.filter_servers = servers
    topics = [topic for topic in prior.topics if is_long(topic)]
    for topic in topics:
        del prior.topics[topic]
    mappings = [(topic, name) for topic, infos in prior.mappings.items() for name, info in infos.items()
                if is_long(topic, name, info.topic, info.bname, info.scope)]  # fmt: skip
    for topic, broker_name in mappings:
        _drop(prior.mappings, topic, broker_name)
    return count + len(topics) + len(mappings)
