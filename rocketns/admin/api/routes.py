"""A route as the API shows it."""

from __future__ import annotations

from rocketns.admin.api.copies import Route
from rocketns.admin.api.rows import QueueRow, RouteRow
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE


def route_row(topic: str, route: Route) -> RouteRow:
    """The row of a topic."""
    groups = {group.broker_name: group for group in route.data.broker_datas}
    filters = {addr: [server for server in servers if server is not None]
               for addr, servers in route.data.filter_server_table.items() if servers}  # fmt: skip
    return RouteRow(
        topic=topic,
        queues=tuple(_queue_row(name, queues, groups.get(name)) for name, queues in route.data.queue_datas),
        filter_servers=filters,
        static_mappings=route.mappings,
        order_configuration=route.order,
    )


def _queue_row(name: str, queues: QueueData, group: BrokerData | None) -> QueueRow:
    addrs = {} if group is None else group.broker_addrs
    return QueueRow(
        broker=name,
        cluster=None if group is None else group.cluster,
        zone=None if group is None else group.zone_name,
        addresses={str(broker_id): addrs[broker_id] for broker_id in sorted(addrs)},
        read_queues=queues.read_queue_nums,
        write_queues=queues.write_queue_nums,
        readable=bool(queues.perm & PERM_READ),
        writable=bool(queues.perm & PERM_WRITE),
        sys_flag=queues.topic_sys_flag,
    )
