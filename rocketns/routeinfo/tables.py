"""RouteInfoManager's six tables, and the few steps that several mutations share.

Only the control thread touches them. Which mutation does what is in the modules beside this one:
`registration`, `unregistration`, `topics`; reading is in `view`, who is overdue in `liveness`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketns.protocol.body.route import BrokerData, DataVersion, QueueData, TopicQueueMappingInfo
from rocketns.routeinfo.accepted_body import AcceptedBody
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import BrokerHeartbeat, Event

DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS = 120_000


class BrokerAddrInfo(NamedTuple):
    """The key of a live broker."""

    cluster: str
    addr: str


@dataclass(slots=True)
class BrokerLiveInfo:
    """A live broker. Times are milliseconds of the caller's clock.

    ``channel`` is the connection of the last registration. ``accepted`` is what `repetition` needs of its body.
    ``grace_ms`` extends the timeout by the time in which the server itself did not run.
    """

    last_update_ms: int
    timeout_ms: int
    data_version: DataVersion | None
    channel: Connection | None
    ha_server_addr: str | None
    accepted: AcceptedBody | None = field(default=None, compare=False, repr=False)
    grace_ms: int = field(default=0, compare=False, repr=False)

    def expires_before(self, now_ms: int) -> bool:
        return self.last_update_ms + self.timeout_ms + self.grace_ms < now_ms


@dataclass(slots=True)
class RouteTables:
    """All route state. Names are Java's: topicQueueTable, brokerAddrTable, clusterAddrTable and so on.

    ``removals`` counts the queue data that `remove_queue_data` removed: while it is unchanged, no topic lost a broker.
    ``changed_groups`` are the names of broker groups that may have changed, ``static_topics`` the topics that got a
    queue mapping. Both accumulate until the publisher takes them. ``owners`` are the open connections over which a
    broker registered.
    """

    topic_queue_table: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, set[str]] = field(default_factory=dict)
    broker_live_table: dict[BrokerAddrInfo, BrokerLiveInfo] = field(default_factory=dict)
    filter_server_table: dict[BrokerAddrInfo, list[str | None]] = field(default_factory=dict)
    topic_queue_mapping_info_table: dict[str, dict[str | None, TopicQueueMappingInfo]] = field(default_factory=dict)
    removals: int = field(default=0, compare=False)
    changed_groups: set[str] = field(default_factory=set, compare=False)
    static_topics: set[str] = field(default_factory=set, compare=False)
    owners: set[Connection | None] = field(default_factory=set, compare=False)

    def live(self, cluster: str | None, addr: str | None) -> BrokerLiveInfo | None:
        """The live entry of an address in a cluster."""
        return self.broker_live_table.get(BrokerAddrInfo(cluster, addr)) if cluster is not None and addr else None

    def refresh(self, cluster: str, addr: str, now_ms: int) -> list[Event]:
        """updateBrokerInfoUpdateTimestamp: a heartbeat of an unknown address changes nothing."""
        entry = self.live(cluster, addr)
        if entry is None:
            return []
        gap_ms, entry.last_update_ms, entry.grace_ms = now_ms - entry.last_update_ms, now_ms, 0
        return [BrokerHeartbeat(cluster, addr, gap_ms)]

    def put_filter_servers(self, key: BrokerAddrInfo, servers: list[str | None]) -> None:
        """What a broker says of its filter servers; an empty list clears them."""
        if servers and self.filter_server_table.get(key) != servers:
            self.filter_server_table[key] = servers
        elif servers or self.filter_server_table.pop(key, None) is None:
            return
        self.changed_groups.update(self.broker_addr_table)  # any group may have the address

    def take_changed_groups(self) -> set[str]:
        """Return and clear ``changed_groups``."""
        changed, self.changed_groups = self.changed_groups, set()
        return changed

    def take_static_topics(self) -> set[str]:
        """Return and clear ``static_topics``."""
        topics, self.static_topics = self.static_topics, set()
        return topics

    def topics_of_broker(self, broker_name: str) -> Iterator[tuple[str, QueueData]]:
        """Every topic that has queue data of the broker. Do not change the topic table meanwhile."""
        for topic, queues in self.topic_queue_table.items():
            if broker_name in queues:
                yield topic, queues[broker_name]

    def remove_queue_data(self, topic: str, broker_name: str) -> bool:
        """Drop one broker's queue data, and the topic with its last one. Whether there was any."""
        queues = self.topic_queue_table.get(topic)
        if queues is None or broker_name not in queues:
            return False
        self.removals += 1
        del queues[broker_name]
        if not queues:
            del self.topic_queue_table[topic]
        return True
