"""What each name server says of a difference: the brokers of a topic, for example, that are not the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketns.client.name_server import NameServer
from rocketns.fleet.comparing import FactKind, Item, Reading
from rocketns.fleet.group_view import GroupView
from rocketns.tools.reading import each
from rocketns.tools.values import route_value

# Topics whose routes are read once more and shown. Of others only the digest is shown.
TOPICS_SHOWN_MAX = 100
BROKERS_IN_A_CELL_MAX = 4
MISSING = "missing"
# Parts of `route_value`. Brokers are compared on their own.
COMPARED_PARTS = ("queues", "staticQueues", "filterServers", "orderConfiguration")


@dataclass(frozen=True, slots=True)
class Difference:
    """``views`` has a value as JSON has it for each name server; None where it does not have the thing."""

    item: Item
    views: dict[str, Any]
    groups: dict[str, GroupView | None] = field(default_factory=dict)


async def detailed(
    servers: Sequence[NameServer], readings: Sequence[Reading], items: Sequence[Item]
) -> list[Difference]:
    """The differences with what each name server says."""
    topics = [item.name for item in items if item.kind is FactKind.TOPIC][:TOPICS_SHOWN_MAX]
    routes = {topic: await _topic_views(servers, topic) for topic in topics}
    return [Difference(item, _views(readings, item, routes), _groups(readings, item)) for item in items]


def _groups(readings: Sequence[Reading], item: Item) -> dict[str, GroupView | None]:
    return {one.addr: one.groups.get(item.name) for one in readings} if item.kind is FactKind.BROKER else {}


def _views(readings: Sequence[Reading], item: Item, routes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if item.kind is FactKind.TOPIC and item.name in routes:
        return routes[item.name]
    return {one.addr: _view(one.of(item.kind).get(item.name)) for one in readings}


def _view(value: GroupView | int | str | None) -> Any:
    if isinstance(value, GroupView):
        return value.as_json()
    return {"digest": f"{value:x}"} if isinstance(value, int) else value


async def _topic_views(servers: Sequence[NameServer], topic: str) -> dict[str, Any]:
    """Of brokers and other parts only those that are not the same everywhere."""
    routes = await each(servers, lambda server: server.route(topic))
    views = [None if route is None else route_value(route) for route in routes]
    present = [view for view in views if view is not None]
    brokers = _differing([view["queues"] for view in present])
    parts = [part for part in _differing(present) if part in COMPARED_PARTS]
    return {
        server.addr: None if view is None else {part: _only(view[part], brokers, part) for part in parts}
        for server, view in zip(servers, views, strict=True)
    }


def _differing(views: Sequence[dict[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all views."""
    return [key for key in sorted(set().union(*views)) if any(view.get(key) != views[0].get(key) for view in views)]


def _only(value: Any, brokers: Sequence[str], part: str) -> Any:
    return {name: one for name, one in value.items() if name in brokers} if part == "queues" else value


def cells(difference: Difference, addrs: Sequence[str]) -> list[str]:
    """What each name server says, in a few words."""
    return [_cell(difference.item.kind, difference.views[addr], difference.groups.get(addr)) for addr in addrs]


def _cell(kind: FactKind, view: Any, group: GroupView | None) -> str:
    if view is None:
        return MISSING
    if group is not None:
        return group.text()
    if kind is FactKind.ORDER:
        return str(view)
    return "; ".join(_part(name, value) for name, value in view.items()) or "present"


def _part(name: str, value: Any) -> str:
    if name != "queues":
        return f"{name} {value}"
    shown = [f"{broker} r{one['readQueueNums']} w{one['writeQueueNums']} perm {one['perm']}"
             for broker, one in list(value.items())[:BROKERS_IN_A_CELL_MAX]]  # fmt: skip
    more = len(value) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if value else "no queues on these brokers"
