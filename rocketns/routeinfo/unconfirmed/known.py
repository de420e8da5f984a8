"""Routes that were known elsewhere, or before: what a start puts into its empty tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketns._fast.routes.queue_table import put_known
from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo


@dataclass(slots=True)
class KnownBroker:
    """An address of a group, and what it said last. ``seen_epoch_ms``: its last sign of life on the wall clock."""

    cluster: str
    addr: str
    timeout_ms: int
    ha_server_addr: str | None
    data_version: DataVersion | None
    seen_epoch_ms: int
    filter_servers: list[str | None] = field(default_factory=list)

    def hear(self, data_version: DataVersion | None, epoch_ms: int) -> None:
        """It gave a sign of life."""
        self.data_version, self.seen_epoch_ms = data_version, epoch_ms

    def note_seen(self, epoch_ms: int) -> None:
        """When it gave its last sign of life."""
        self.seen_epoch_ms = epoch_ms

    def note_filter_servers(self, servers: list[str | None]) -> None:
        """It has other filter servers now."""
        self.filter_servers = servers


@dataclass(slots=True)
class KnownGroup:
    """The brokers of one name by id. ``cluster`` is the group's own."""

    cluster: str
    zone_name: str | None = None
    enable_acting_master: bool = False
    brokers: dict[int, KnownBroker] = field(default_factory=dict)

    def note_switches(self, zone_name: str | None, enable_acting_master: bool) -> None:
        """What the last registration of one of its brokers said of the group."""
        self.zone_name, self.enable_acting_master = zone_name, enable_acting_master


@dataclass(slots=True)
class KnownRoutes:
    """Groups, topics and static topics by name."""

    groups: dict[str, KnownGroup] = field(default_factory=dict)
    topics: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    mappings: dict[str, dict[str | None, TopicQueueMappingInfo]] = field(default_factory=dict)

    def put_topics(self, broker_name: str, queues: dict[str, QueueData]) -> None:
        """These topics have these queues on the broker."""
        put_known(self.topics, broker_name, queues)

    def delete_topic(self, broker_name: str, topic: str) -> None:
        """The topic has no queues on the broker."""
        brokers = self.topics.get(topic)
        if brokers is not None:
            brokers.pop(broker_name, None)
            if not brokers:
                del self.topics[topic]

    def forget_brokers(self, before_epoch_ms: int) -> None:
        """Leave out the brokers whose last sign of life is older, and the groups and topics that only they had."""
        for name, group in list(self.groups.items()):
            for broker_id, broker in list(group.brokers.items()):
                if broker.seen_epoch_ms < before_epoch_ms:
                    del group.brokers[broker_id]
            if not group.brokers:
                del self.groups[name]
        for topic, brokers in list(self.topics.items()):
            if not brokers.keys() <= self.groups.keys():
                for name in brokers.keys() - self.groups.keys():
                    self.delete_topic(name, topic)

    def forget_versions(self, broker_name: str | None = None) -> None:
        """Of one group, or of all: a broker that asks is told to send all its topics."""
        for name, group in self.groups.items():
            if broker_name in (None, name):
                for broker in group.brokers.values():
                    broker.data_version = None
