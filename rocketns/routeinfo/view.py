"""Reading the tables: routes (pickupTopicRouteData, ZoneRouteRPCHook), and the lists that tools ask for.

Every answer is a snapshot in sorted order, so that all name servers give the same bytes for the same facts
(Java's order is that of its hash maps, apache/rocketmq issue 1999).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from itertools import islice

from rocketns._fast.routes.routes import RouteSlots, bucket_digests, topic_count, topic_digest, topics_of_bucket
from rocketns.config import NamesrvConfig
from rocketns.errors import AnswerTooLarge
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.protocol.codes import (
    MASTER_ID,
    PERM_WRITE,
    SYNC_BROKER_MEMBER_GROUP_PREFIX,
    SYS_FLAG_UNIT,
    SYS_FLAG_UNIT_SUB,
)
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

HASHED_CHARACTERS_MAX = 256  # broker names have at most 127


def pick_up_route(
    tables: RouteTables, config: NamesrvConfig, topic: str | None,
    show: Callable[[TopicRouteData], None] | None = None,
) -> TopicRouteData | None:  # fmt: skip
    """The route of a topic, or None where it has no queue data or none of its brokers has a group.

    ``show`` changes its addresses to those that a client gets. Brokers have their own ids then.
    """
    queues = None if topic is None else tables.topic_queue_table.get(topic)
    if topic is None or not queues:
        return None
    names = sorted(queues)
    groups = [tables.broker_addr_table[name].copy() for name in names if name in tables.broker_addr_table]
    if not groups:
        return None
    route = TopicRouteData(
        queue_datas=[(name, queues[name]) for name in names],
        broker_datas=groups,
        filter_server_table=_filter_servers(tables, groups),
        topic_queue_mapping_by_broker=tables.topic_queue_mapping_info_table.get(topic),
    )
    if show is not None and not topic.startswith(SYNC_BROKER_MEMBER_GROUP_PREFIX):
        show(route)
    if config.support_acting_master and not topic.startswith(SYNC_BROKER_MEMBER_GROUP_PREFIX):
        _present_acting_masters(route)
    return route


def _filter_servers(tables: RouteTables, groups: list[BrokerData]) -> dict[str, list[str | None] | None]:
    if not tables.filter_server_table:
        return {}
    return {
        addr: tables.filter_server_table.get(BrokerAddrInfo(group.cluster, addr))
        for group in groups
        if group.cluster is not None
        for addr in group.broker_addrs.values()
    }


def _present_acting_masters(route: TopicRouteData) -> None:
    """Show the smallest slave of a masterless, read-only group as its master."""
    perms = {name: queues.perm for name, queues in route.queue_datas}
    for group in route.broker_datas:
        addrs = group.broker_addrs
        masterless = bool(addrs) and MASTER_ID not in addrs and group.enable_acting_master
        if masterless and not perms[group.broker_name] & PERM_WRITE:
            addrs[MASTER_ID] = addrs.pop(min(addrs))


def filter_by_zone(route: TopicRouteData, zone_name: str) -> None:
    """ZoneRouteRPCHook: keep the groups of the zone, and those that have no master to prefer."""
    zone = zone_name.lower()
    others = (group for group in route.broker_datas if group.zone_name is None or group.zone_name.lower() != zone)
    removed = [group for group in others if MASTER_ID in group.broker_addrs]
    names = {group.broker_name for group in removed}
    route.broker_datas = [group for group in route.broker_datas if group.broker_name not in names]
    route.queue_datas = [(name, queues) for name, queues in route.queue_datas if name not in names]
    for addr in [addr for group in removed for addr in group.broker_addrs.values()]:
        route.filter_server_table.pop(addr, None)


def topics_by_cluster(tables: RouteTables, cluster: str | None, most: int) -> Collection[str]:
    """Topics with queue data on any broker that the cluster lists; none for an unknown cluster.

    Stops soon after ``most`` of them. Brokers that share their topics have more names than the table.
    """
    names = set() if cluster is None else tables.cluster_addr_table.get(cluster, set())
    if sum(len(tables.topics_of_broker(name)) for name in names) > len(tables.topic_queue_table):
        found = (topic for topic, queues in tables.topic_queue_table.items() if not names.isdisjoint(queues))
        return [*islice(found, most + 1)]
    topics: dict[str, None] = {}  # in the order in which they came, which is often that of the answer
    for name in names:
        topics.update(dict.fromkeys(tables.topics_of_broker(name)))
        if len(topics) > most:
            break
    return topics


def system_topics(tables: RouteTables, groups: Mapping[str, BrokerData]) -> tuple[set[str], str | None]:
    """All cluster and broker names, and the address in ``groups`` of some broker that can be asked for more."""
    names = set(tables.cluster_addr_table).union(*tables.cluster_addr_table.values())
    for broker_name in sorted(groups):
        addrs = groups[broker_name].broker_addrs
        if addrs:
            return names, addrs[min(addrs)]
    return names, None


def _sys_flags(tables: RouteTables, most: int) -> dict[str, int]:
    """System flag of each topic that has a unit flag on any broker. AnswerTooLarge beyond ``most`` queues of them.

    Where brokers disagree, the broker that Java's HashMap gives first decides.
    """
    flags: dict[str, int] = {}
    read = 0
    for topics in tables.broker_topics.values():
        for topic in topics.unit_topics:
            if topic not in flags:
                queues = tables.topic_queue_table[topic]
                read += len(queues)
                if read > most:
                    raise AnswerTooLarge("topics with a unit flag have more queues than UNIT_QUEUES_READ_MAX", most)
                of_brokers = {queue.topic_sys_flag for queue in queues.values()}
                is_one = len(of_brokers) == 1
                flags[topic] = of_brokers.pop() if is_one else queues[first_of_hash_map(queues)].topic_sys_flag
    return flags


def unit_topics(tables: RouteTables, most: int) -> list[str]:
    """getUnitTopics."""
    return [topic for topic, flag in _sys_flags(tables, most).items() if flag & SYS_FLAG_UNIT]


def has_unit_sub_topics(tables: RouteTables, most: int) -> list[str]:
    """getHasUnitSubTopicList."""
    return [topic for topic, flag in _sys_flags(tables, most).items() if flag & SYS_FLAG_UNIT_SUB]


def has_unit_sub_ununit_topics(tables: RouteTables, most: int) -> list[str]:
    """getHasUnitSubUnUnitTopicList."""
    flags = _sys_flags(tables, most)
    return [topic for topic, flag in flags.items() if flag & SYS_FLAG_UNIT_SUB and not flag & SYS_FLAG_UNIT]


@lru_cache(maxsize=32_768)  # more than rocketns.brokersMax: lists of unit topics hash broker names for each topic
def string_hash(text: str) -> int:
    """String.hashCode as an unsigned 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def first_of_hash_map(keys: Collection[str]) -> str:
    """The first key of a java.util.HashMap into which these keys, at least one, were put in this order.

    Java's map may begin with another key if it once had more keys, or has nine keys in one bucket. Only the first
    `HASHED_CHARACTERS_MAX` characters of a key are hashed.
    """
    capacity = 16
    while len(keys) > capacity * 3 // 4:
        capacity *= 2

    def bucket(key: str) -> int:
        code = string_hash(key[:HASHED_CHARACTERS_MAX])
        return (code ^ code >> 16) & (capacity - 1)

    return min(keys, key=bucket)  # the first key in the lowest bucket


class RouteDigests:
    """The digests of the routes: see `rocketns._fast.routes.routes`. The slots keep them with every change."""

    def __init__(self, slots: RouteSlots) -> None:
        self._slots = slots

    def buckets(self) -> bytes:
        """The digest of each bucket of topics, 8 bytes each, the lowest first."""
        return bucket_digests(self._slots)

    def topics(self, bucket: int) -> dict[str, int]:
        """The digests of the topics of one bucket."""
        return topics_of_bucket(self._slots, bucket)

    def topic(self, topic: str) -> int | None:
        """The digest of a topic; None if no broker has queues of it."""
        return topic_digest(self._slots, topic)

    def __len__(self) -> int:
        return topic_count(self._slots)
