"""`rocketns diff`: what several name servers disagree about, and still do after a while.

Of a route only its digest is kept, so memory grows with names only.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rocketns.client.name_server import NameServer, UnusableError, ask_each, decoded
from rocketns.fleet.comparing import FactKind, Item, Reading, differences
from rocketns.fleet.digests import DIGEST_BYTES, extras_digest, queues_digest, read_route
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.protocol.bounds import JSON_VALUES_MAX
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG
from rocketns.tools.get import route_value
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, Report, TextTable, print_answer

# While a difference may settle, it is looked at so often. Many topics are looked at once, at the end.
LOOK_EVERY_S = 1.0
TOPICS_LOOKED_AT_OFTEN = 500
ROWS_MAX = 500
TOPICS_MAX = 500_000

# Topics whose routes are read once more and shown. Of others only the digest is shown.
TOPICS_SHOWN_MAX = 100
BROKERS_IN_A_CELL_MAX = 4
MISSING = "missing"
# Parts of `route_value`. Brokers are compared on their own.
COMPARED_PARTS = ("queues", "staticQueues", "filterServers", "orderConfiguration")
Value = TypeVar("Value")
# By name server: a group, the digest or the parts of a route, or an order configuration; None: it has no such thing.
Views = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``first`` has all that was read. ``latest`` has what ``lasting`` differences are about; the others settled."""

    first: Sequence[Reading]
    latest: Sequence[Reading]
    lasting: Sequence[Item]
    settled: Sequence[Item]


async def diff(options: Namespace, servers: Sequence[NameServer]) -> int:
    """Print the differences. The exit status. An ExceptionGroup has an error for each unreadable name server."""
    outcome = await compared(servers, options.settle, options.lookups_per_second)
    details = await detailed(servers, outcome.latest, outcome.lasting)
    print_answer(options, _value(outcome, details), _report(outcome, details))
    return EXIT_DIFFERENT if outcome.lasting else EXIT_FOUND


async def compared(servers: Sequence[NameServer], settle_s: float, per_second: float = 0) -> Comparison:
    """All differences that last for ``settle_s``."""
    first = latest = await each(servers, lambda server: read(server, per_second))
    at_first = lasting = list(differences(first))
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + settle_s
    while lasting and (left_s := ends_s - loop.time()) > 0:
        is_quick = sum(item.kind is FactKind.TOPIC for item in lasting) <= TOPICS_LOOKED_AT_OFTEN
        await asyncio.sleep(min(left_s, LOOK_EVERY_S) if is_quick else left_s)
        latest = await each(servers, partial(read, per_second=per_second, items=lasting))
        still = set(differences(latest))
        lasting = [item for item in lasting if item in still]
    gone = set(at_first) - set(lasting)
    return Comparison(first, latest, lasting, [item for item in at_first if item in gone])


def _value(outcome: Comparison, details: Sequence[tuple[Item, Views]]) -> dict[str, Any]:
    return {
        "servers": [{"addr": one.addr, "brokers": len(one.groups), "topics": len(one.digests)}
                    for one in outcome.first],
        "differences": [{"kind": item.kind, "name": item.name,
                         "views": {addr: _json(view) for addr, view in views.items()}} for item, views in details],
        "settled": [{"kind": item.kind, "name": item.name} for item in outcome.settled],
    }  # fmt: skip


def _report(outcome: Comparison, details: Sequence[tuple[Item, Views]]) -> Report:
    read = [(one.addr, str(len(one.groups)), str(len(one.digests))) for one in outcome.first]
    addrs = [one.addr for one in outcome.latest]
    shown = [
        (item.kind.upper(), item.name, *(cell(views[addr]) for addr in addrs)) for item, views in details[:ROWS_MAX]
    ]
    more = len(details) - ROWS_MAX
    return [
        TextTable(("NAME SERVER", "BROKER GROUPS", "TOPICS"), read),
        *([TextTable(("KIND", "NAME", *addrs), shown)] if shown else []),
        *([f"{more} more differences; --json prints all"] if more > 0 else []),
        f"{len(details)} differences; {len(outcome.settled)} more settled meanwhile",
    ]


async def detailed(
    servers: Sequence[NameServer], readings: Sequence[Reading], items: Sequence[Item]
) -> list[tuple[Item, Views]]:
    """The differences with what each name server says."""
    topics = [item.name for item in items if item.kind is FactKind.TOPIC][:TOPICS_SHOWN_MAX]
    routes = {topic: await _topic_views(servers, topic) for topic in topics}
    return [
        (item, routes[item.name] if item.kind is FactKind.TOPIC and item.name in routes
         else {one.addr: one.of(item.kind).get(item.name) for one in readings}) for item in items
    ]  # fmt: skip


async def _topic_views(servers: Sequence[NameServer], topic: str) -> dict[str, Any]:
    """Of brokers and other parts only those that are not the same everywhere."""
    routes = await each(servers, lambda server: server.route(topic))
    views = [None if route is None else route_value(route) for route in routes]
    present = [view for view in views if view is not None]
    brokers = _differing([view["queues"] for view in present])
    parts = [part for part in _differing(present) if part in COMPARED_PARTS]
    return {
        server.addr: None
        if view is None
        else {
            part: {name: view[part][name] for name in brokers if name in view[part]} if part == "queues" else view[part]
            for part in parts
        }
        for server, view in zip(servers, views, strict=True)
    }


def _differing(views: Sequence[dict[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all views."""
    return [key for key in sorted(set().union(*views)) if any(view.get(key) != views[0].get(key) for view in views)]


def cell(view: Any) -> str:
    """What a name server says, in a few words."""
    match view:
        case None:
            return MISSING
        case GroupView():
            return view.text()
        case int():
            return f"digest {view:x}"
        case dict():
            return "; ".join(_part(name, value) for name, value in view.items()) or "present"
        case _:
            return str(view)


def _json(view: Any) -> Any:
    if isinstance(view, GroupView):
        return view.as_json()
    return {"digest": f"{view:x}"} if isinstance(view, int) else view


def _part(name: str, value: Any) -> str:
    if name != "queues":
        return f"{name} {value}"
    shown = [f"{broker} r{one['readQueueNums']} w{one['writeQueueNums']} perm {one['perm']}"
             for broker, one in list(value.items())[:BROKERS_IN_A_CELL_MAX]]  # fmt: skip
    more = len(value) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if value else "no queues on these brokers"


async def each(servers: Sequence[NameServer], read: Callable[[NameServer], Awaitable[Value]]) -> list[Value]:
    """What ``read`` gives for each name server, all at once. An ExceptionGroup names those that cannot be read."""
    found = await asyncio.gather(*(read(server) for server in servers), return_exceptions=True)
    failed = [_named(server, one) for server, one in zip(servers, found, strict=True) if isinstance(one, BaseException)]
    if failed:
        raise ExceptionGroup("name servers cannot be read", failed)
    return [one for one in found if not isinstance(one, BaseException)]


def _named(server: NameServer, error: BaseException) -> UnusableError:
    if not isinstance(error, UnusableError):
        raise error
    return UnusableError(f"{server.addr} cannot be read: {error}")


async def read(server: NameServer, per_second: float, items: Sequence[Item] | None = None) -> Reading:
    """What one name server says of these differences; None: everything that is compared. UnusableError."""
    reading = Reading(server.addr)
    if items is None or any(item.kind is not FactKind.TOPIC for item in items):
        reading.groups = group_views(await server.groups())
        reading.order = await server.kv(NAMESPACE_ORDER_TOPIC_CONFIG)
    topics = await server.topics() if items is None else [one.name for one in items if one.kind is FactKind.TOPIC]
    if len(topics) > TOPICS_MAX:
        raise UnusableError(f"it has {len(topics)} topics, and at most {TOPICS_MAX} are compared")

    async def read_topic(topic: str) -> None:
        if (body := await server.route_body(topic)) is not None:
            reading.digests[topic] = decoded(body, whole_digest)

    await ask_each(topics, read_topic, per_second)
    return reading


def whole_digest(body: bytes) -> int:
    """The digest of all that a route says of its topic. BodyDecodeError where it is no route."""
    route = read_route(body, JSON_VALUES_MAX)
    return queues_digest(route) | extras_digest(route) << 8 * DIGEST_BYTES
