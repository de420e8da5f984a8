"""Reads all that `rocketns diff` compares. Of a route only its digest is kept, so memory grows with names only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from rocketns.client.name_server import NameServer, UnusableError, decoded
from rocketns.client.topics import ask_each
from rocketns.fleet.comparing import FactKind, Reading
from rocketns.fleet.digests import DIGEST_BYTES, extras_digest, queues_digest, read_route
from rocketns.fleet.group_view import group_views
from rocketns.protocol.bounds import JSON_VALUES_MAX
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG

TOPICS_MAX = 500_000

Value = TypeVar("Value")


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


async def read_all(server: NameServer, per_second: float) -> Reading:
    """Everything of one name server. UnusableError if it cannot be read."""
    reading = await _read_tables(server)
    topics = await server.topics()
    if len(topics) > TOPICS_MAX:
        raise UnusableError(f"it has {len(topics)} topics, and at most {TOPICS_MAX} are compared")
    reading.digests = await _digests(server, topics, per_second)
    return reading


async def read_again(
    server: NameServer, kinds: Collection[FactKind], topics: Collection[str], per_second: float
) -> Reading:
    """The tables of these kinds, and these topics."""
    reading = await _read_tables(server) if set(kinds) - {FactKind.TOPIC} else Reading(server.addr)
    reading.digests = await _digests(server, topics, per_second)
    return reading


async def _read_tables(server: NameServer) -> Reading:
    groups, order = group_views(await server.groups()), await server.kv(NAMESPACE_ORDER_TOPIC_CONFIG)
    return Reading(server.addr, groups=groups, order=order)


async def _digests(server: NameServer, topics: Collection[str], per_second: float) -> dict[str, int]:
    """The digest of each topic that has a route."""
    digests: dict[str, int] = {}

    async def read(topic: str) -> None:
        body = await server.route_body(topic)
        if body is not None:
            digests[topic] = decoded(body, whole_digest)

    await ask_each(topics, read, per_second)
    return digests


def whole_digest(body: bytes) -> int:
    """The digest of all that a route says of its topic. BodyDecodeError where it is no route."""
    route = read_route(body, JSON_VALUES_MAX)
    return queues_digest(route) | extras_digest(route) << 8 * DIGEST_BYTES
