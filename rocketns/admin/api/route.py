"""The route of a topic as a row: what control copies of it, and how much of it fits an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from rocketns.admin.api.paging import NAME, Parameter, api_error, dumps
from rocketns.admin.api.rows import QueueRow, RouteRow
from rocketns.admin.api.tables import ApiSource
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.facts import Facts
from rocketns.views.checking import view_named

# Of the queues and the filter servers of an answer.
ROUTE_BYTES_MAX = 256 * 1024
ERROR_CHARACTERS_MAX = 512  # it names all views

ROUTE_PARAMETERS = (
    Parameter("topic", "its whole name", NAME, is_required=True),
    Parameter("as", "as a client gets it: its IP address, or the name of a view", NAME),
)
Row = TypeVar("Row")


async def read_route(source: ApiSource, wanted: Mapping[str, Any]) -> RouteRow:
    """HTTPNotFound if there is no such topic or view."""
    route, *queues = await source.view.read(partial(_copy_route, wanted["topic"], wanted.get("as")))
    if not isinstance(route, RouteRow):
        raise api_error(str(route), web.HTTPNotFound)
    shown, room = _fitting(queues, ROUTE_BYTES_MAX)
    filter_servers, _ = _fitting(route.filter_servers.items(), room)
    return replace(route, queues=tuple(shown), left_out=len(queues) - len(shown), filter_servers=dict(filter_servers))


def _copy_route(topic: str, who: str | None, facts: Facts) -> Iterator[Any]:
    """The route as ``who`` gets it, see `view_named`, and then its queues; or why there is none."""
    try:
        view = None if who is None else view_named(facts.context.views, who)
    except LookupError as error:
        yield str(error.args[0])[:ERROR_CHARACTERS_MAX]
        return
    data = pick_up_route(facts.tables, facts.configuration.namesrv, topic, None if view is None else view.show)
    if data is None:
        yield f"there is no topic {topic!r}"
        return
    yield RouteRow(
        topic=topic,
        view=None if view is None else view.name,
        queues=(),
        left_out=0,
        filter_servers={addr: [server for server in servers if server is not None]
                        for addr, servers in data.filter_server_table.items() if servers},
        static_mappings=len(data.topic_queue_mapping_by_broker or ()),
        order_configuration=facts.order_of(topic),
    )  # fmt: skip
    groups = {group.broker_name: group for group in data.broker_datas}
    for name, queues in data.queue_datas:
        yield _queue_row(name, queues, groups.get(name))


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
