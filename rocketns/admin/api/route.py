"""The route of a topic as a row: what control copies of it, and how much of it fits an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from rocketns.admin.api.paging import dumps
from rocketns.admin.api.rows import QueueRow, RouteRow
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.facts import Facts
from rocketns.views.checking import view_named

# Of the queues and the filter servers of an answer.
ROUTE_BYTES_MAX = 256 * 1024

Row = TypeVar("Row")


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


def route_row(topic: str, route: RouteCopy) -> RouteRow:
    """The row of a topic."""
    groups = {group.broker_name: group for group in route.data.broker_datas}
    filters = {addr: [server for server in servers if server is not None]
               for addr, servers in route.data.filter_server_table.items() if servers}  # fmt: skip
    rows = (_queue_row(name, queues, groups.get(name)) for name, queues in route.data.queue_datas)
    shown, room = _fitting(rows, ROUTE_BYTES_MAX)
    return RouteRow(
        topic=topic,
        view=route.view,
        queues=tuple(shown),
        left_out=len(route.data.queue_datas) - len(shown),
        filter_servers=dict(_fitting(filters.items(), room)[0]),
        static_mappings=route.mappings,
        order_configuration=route.order,
    )


def _fitting(rows: Iterable[Row], room: int) -> tuple[list[Row], int]:
    """The rows that fit so many bytes of JSON, and how much room they leave."""
    fitting = []
    for row in rows:
        size = len(dumps(row)) + 1
        if size <= room:
            room -= size
            fitting.append(row)
    return fitting, room


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
