"""RouteInfoManager's methods over the real route tables, with a clock that a test moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rocketns.config import NamesrvConfig
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import (
    DataVersion,
    QueueData,
    TopicConfig,
    TopicQueueMappingInfo,
    TopicRouteData,
    TopicTable,
    queue_data,
)
from rocketns.routeinfo import liveness, topics, view
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause, Event
from rocketns.routeinfo.registration import BrokerRegistration, RegisterBrokerResult, register_broker
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers

CLUSTER, BROKER, ADDR, SLAVE_ADDR = "Default_Cluster", "Default_Broker", "127.0.0.1:10911", "127.0.0.1:30911"
NORMAL = queue_data(8, 8, 6, 0)
READ_ONLY = queue_data(8, 8, 4, 0)
WRITE = 2
VERSION = DataVersion(state_version=0, timestamp=1_700_000_000_000, counter=1)


@dataclass(frozen=True)
class Broker:
    """What a broker registers with; by default a master."""

    cluster: str = CLUSTER
    name: str = BROKER
    addr: str = ADDR
    id: int = 0
    ha_addr: str | None = "127.0.0.1:20911"
    acting: bool | None = True
    version: DataVersion | None = VERSION
    zone: str | None = None
    timeout_ms: int | None = None
    channel: Connection | None = field(default_factory=object)
    announced_by: str | None = None

    def but(self, **changes: object) -> Broker:
        return replace(self, **changes)  # type: ignore[arg-type]

    def next_version(self) -> Broker:
        assert self.version is not None
        return self.but(version=self.version._replace(counter=(self.version.counter or 0) + 1))

    def leaving(self, cause: Cause = Cause.UNREGISTER) -> UnregisterRequest:
        return UnregisterRequest(self.cluster, self.addr, self.name, self.id, cause)


MASTER = Broker()
SLAVE = Broker(addr=SLAVE_ADDR, id=1, ha_addr="127.0.0.1:40911")


def table_of(*names: str, **queues: QueueData) -> dict[str, TopicConfig]:
    """Topics with 8 queues and full permission, and those given with their queue data."""
    return {name: TopicConfig(name, data) for name, data in (dict.fromkeys(names, NORMAL) | queues).items()}


@dataclass
class Manager:
    """The tables and their configuration. Every event since the start is in ``events``."""

    tables: RouteTables = field(default_factory=RouteTables)
    config: NamesrvConfig = field(default_factory=lambda: NamesrvConfig(support_acting_master=True))
    now_ms: int = 1_000_000
    events: list[Event] = field(default_factory=list)

    def note(self, events: Iterable[Event]) -> list[Event]:
        noted = list(events)
        self.events += noted
        return noted

    def register(
        self,
        broker: Broker,
        table: dict[str, TopicConfig] | None,
        mappings: dict[str, TopicQueueMappingInfo] | None = None,
        filters: list[str | None] | None = None,
    ) -> RegisterBrokerResult:
        topics = None if table is None else TopicTable.of(table.items())
        return self.register_wrapper(broker, TopicConfigWrapper(broker.version, topics, mappings or {}), filters)

    def register_wrapper(
        self, broker: Broker, wrapper: TopicConfigWrapper | None, filters: list[str | None] | None = None
    ) -> RegisterBrokerResult:
        asked = BrokerRegistration(
            broker.cluster, broker.addr, broker.name, broker.id, broker.ha_addr, broker.zone, broker.timeout_ms,
            broker.acting, wrapper, filters, broker.channel, announced_by=broker.announced_by,
        )  # fmt: skip
        result = register_broker(self.tables, self.config, asked, self.now_ms)
        self.note(result.events)
        return result

    def unregister(self, *leaving: Broker | UnregisterRequest) -> list[Event]:
        batch = [one.leaving() if isinstance(one, Broker) else one for one in leaving]
        events = self.note(unregister_brokers(self.tables, batch, self.now_ms))
        while orphaned := liveness.orphaned(self.tables, 2):
            events += self.note(unregister_brokers(self.tables, orphaned, self.now_ms))
        return events

    def close(self, channel: Connection, cause: Cause = Cause.CHANNEL_CLOSE) -> list[Event]:
        return self.unregister(*liveness.closed_connection(self.tables, channel, cause))

    def scan(self) -> list[Connection | None]:
        """Expire what is overdue; the connections that are to be closed."""
        expired = liveness.expired_brokers(self.tables, self.now_ms)
        self.unregister(*(one.request for one in expired))
        return [one.entry.channel for one in expired]

    def register_topic(self, topic: str | None, *queue_datas: tuple[str | None, QueueData]) -> list[Event]:
        return self.note(topics.register_topic(self.tables, topic, list(queue_datas)))

    def delete_topic(self, topic: str | None, cluster: str | None = None) -> list[Event]:
        return self.note(topics.delete_topic(self.tables, topic, cluster))

    def wipe_write_perm(self, broker_name: str | None) -> int:
        count, events = topics.wipe_write_perm(self.tables, broker_name)
        self.note(events)
        return count

    def add_write_perm(self, broker_name: str | None) -> int:
        count, events = topics.add_write_perm(self.tables, broker_name)
        self.note(events)
        return count

    def pick_up(self, topic: str | None) -> TopicRouteData | None:
        return view.pick_up_route(self.tables, self.config, topic)

    def route(self, topic: str) -> TopicRouteData:
        route = self.pick_up(topic)
        assert route is not None, f"no route of {topic}"
        return route

    def addrs(self, topic: str, broker_name: str = BROKER) -> dict[int, str]:
        """The addresses that the route of a topic shows for one broker."""
        return next(group.broker_addrs for group in self.route(topic).broker_datas if group.broker_name == broker_name)

    def perm(self, topic: str, broker_name: str = BROKER) -> int:
        return dict(self.route(topic).queue_datas)[broker_name].perm

    def live(self, broker: Broker) -> BrokerLiveInfo | None:
        return self.tables.live(broker.cluster, broker.addr)

    def key(self, broker: Broker) -> BrokerAddrInfo:
        return BrokerAddrInfo(broker.cluster, broker.addr)
