"""Topics and permissions changed by tools and brokers: registerTopic, deleteTopic, operateWritePermOfBroker."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE
from rocketns.routeinfo.events import Cause, Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import RouteTables


def register_topic(
    tables: RouteTables, topic: str | None, queue_datas: list[tuple[str | None, QueueData]]
) -> list[Event]:
    """A new topic with an unknown broker is not registered. A known topic takes the brokers before the unknown one."""
    if topic is None or not queue_datas:
        return []
    accepted: dict[str, QueueData] = {}  # of a broker that is named twice the last queues count
    for broker_name, queues in queue_datas:
        if broker_name is None or broker_name not in tables.broker_addr_table:
            if topic not in tables.topic_queue_table:
                return []
            break
        accepted[tables.shared_name(broker_name)] = queues
    put = [(name, tables.put_topics(name, {topic: queues})) for name, queues in accepted.items()]
    return [TopicsPut(name, changes, Cause.TOPIC) for name, changes in put if changes]


def delete_topic(tables: RouteTables, topic: str | None, cluster: str | None) -> list[Event]:
    """From all brokers, or only from those that the cluster lists; an unknown cluster changes nothing."""
    if topic is None or topic not in tables.topic_queue_table:
        return []
    holders = sorted(tables.topic_queue_table[topic])
    names = tables.cluster_addr_table.get(cluster, set()) if cluster else set(holders)
    removed = [name for name in holders if name in names and tables.remove_queue_data(topic, name)]
    return [TopicsDeleted(broker_name, [topic], Cause.ADMIN) for broker_name in removed]


def wipe_write_perm(tables: RouteTables, broker_name: str | None) -> tuple[int, list[Event]]:
    """Clear the write bit on every topic of the broker: how many topics it has, and what changed."""
    return _operate_perm(tables, broker_name, lambda perm: perm & ~PERM_WRITE)


def add_write_perm(tables: RouteTables, broker_name: str | None) -> tuple[int, list[Event]]:
    """Set exactly read and write, whatever the permission was: Java loses the inherit bit here too."""
    return _operate_perm(tables, broker_name, lambda _perm: PERM_READ | PERM_WRITE)


def _operate_perm(
    tables: RouteTables, broker_name: str | None, new_perm: Callable[[int], int]
) -> tuple[int, list[Event]]:
    if broker_name is None:
        return 0, []
    broker_name = tables.shared_name(broker_name)
    changes = tables.change_topics(broker_name, lambda old: old.with_perm(new_perm(old.perm)))
    events: list[Event] = [TopicsPut(broker_name, changes, Cause.PERM)] if changes else []
    return len(tables.topics_of_broker(broker_name)), events
