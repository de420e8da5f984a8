"""Compares whole answers of a peer with this name server's own values.

Control calls these on another thread: a hostile peer's megabyte takes longer than control may be held. They share
nothing with it: ``own`` is a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketns.errors import BodyDecodeError
from rocketns.fleet.digests import queues_digest, read_route
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.fleet.suspects import SUSPECTS_MAX
from rocketns.protocol.body.route_decoding import decode_cluster_info, decode_kv_table, decode_topic_list

ROUTE_VALUES_MAX = 200_000
HEX_DIGITS_MAX = 16

Differing = list[tuple[str, GroupView | int | None, GroupView | int | None]]


def differing_groups(own: Mapping[str, GroupView], body: bytes) -> tuple[int, int, Differing]:
    """Of an answer to 106: the peer's groups, how many differ, and the first of those as (name, own, theirs)."""
    theirs = group_views(decode_cluster_info(body))
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    return len(theirs), len(names), [(name, own.get(name), theirs.get(name)) for name in names[:SUSPECTS_MAX]]


def differing_digests(own: Mapping[str, int], body: bytes) -> tuple[int, Differing]:
    """Of an answer with the digests of one bucket: how many differ, and the first of those."""
    theirs = {topic: _number(text) for topic, text in decode_kv_table(body).items()}
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    return len(names), [(name, own.get(name), theirs.get(name)) for name in names[:SUSPECTS_MAX]]


def _number(text: str) -> int:
    try:
        if len(text) <= HEX_DIGITS_MAX:
            return int(text, 16)
    except ValueError:
        pass
    raise BodyDecodeError("a digest is no number")


def topic_names(own: Iterable[str], body: bytes) -> tuple[list[str], list[str]]:
    """Of an answer to 206: the peer's topics, and the first names that only one of the two has."""
    theirs = decode_topic_list(body)
    return theirs, sorted(set(theirs).symmetric_difference(own))[:SUSPECTS_MAX]


def route_digest(body: bytes) -> int | None:
    """Of an answer to 105: the digest of its queues; None if it has none."""
    return queues_digest(read_route(body, ROUTE_VALUES_MAX)) or None
