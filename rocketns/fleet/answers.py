"""Compares whole answers of a peer with this name server's own values.

Control calls these on another thread: a hostile peer's megabyte takes longer than control may be held. They share
nothing with it: ``own`` is a copy. Names of more than ``name_bytes_max`` bytes are left out: this name server would not
take them, and a difference is kept and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketns.errors import BodyDecodeError
from rocketns.fleet.digests import queues_digest, read_route
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.fleet.suspects import SUSPECTS_MAX
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.body.route_decoding import decode_cluster_info, decode_kv_table, decode_topic_list
from rocketns.protocol.names import is_too_long

ROUTE_VALUES_MAX = 200_000
HEX_DIGITS_MAX = 16

Differing = list[tuple[str, GroupView | int | None, GroupView | int | None]]


def differing_groups(own: Mapping[str, GroupView], body: bytes, name_bytes_max: int) -> tuple[int, int, Differing]:
    """Of an answer to 106: the peer's groups, how many differ, and the first of those as (name, own, theirs)."""
    groups = decode_cluster_info(body)
    theirs = group_views({name: group for name, group in groups.items() if _fits(name, group, name_bytes_max)})
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    return len(theirs), len(names), [(name, own.get(name), theirs.get(name)) for name in names[:SUSPECTS_MAX]]


def _fits(name: str, group: BrokerData, name_bytes_max: int) -> bool:
    texts = (name, group.cluster, group.zone_name, *group.broker_addrs.values())
    return not any(text is not None and is_too_long(text, name_bytes_max) for text in texts)


def differing_digests(own: Mapping[str, int], body: bytes, name_bytes_max: int) -> tuple[int, Differing]:
    """Of an answer with the digests of one bucket: how many differ, and the first of those."""
    digests = decode_kv_table(body)
    theirs = {topic: _number(text) for topic, text in digests.items() if not is_too_long(topic, name_bytes_max)}
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    return len(names), [(name, own.get(name), theirs.get(name)) for name in names[:SUSPECTS_MAX]]


def _number(text: str) -> int:
    try:
        if len(text) <= HEX_DIGITS_MAX:
            return int(text, 16)
    except ValueError:
        pass
    raise BodyDecodeError("a digest is no number")


def topic_names(own: Iterable[str], body: bytes, name_bytes_max: int) -> tuple[list[str], list[str]]:
    """Of an answer to 206: the peer's topics, and the first names that only one of the two has."""
    theirs = [topic for topic in decode_topic_list(body) if not is_too_long(topic, name_bytes_max)]
    return theirs, sorted(set(theirs).symmetric_difference(own))[:SUSPECTS_MAX]


def route_digest(body: bytes) -> int | None:
    """Of an answer to 105: the digest of its queues; None if it has none."""
    return queues_digest(read_route(body, ROUTE_VALUES_MAX)) or None
