"""Compares whole answers of a peer with this name server's own values.

Control calls these on another thread: a hostile peer's megabyte takes longer than control may be held. They share
nothing with it: ``own`` is a copy. Names of more than ``name_bytes_max`` bytes are left out: this name server would not
take them, and a difference is kept and shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rocketns.errors import BodyDecodeError
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.fleet.queue_view import QueueDifference, delta, read_queues
from rocketns.fleet.suspects import SUSPECTS_MAX, Value
from rocketns.protocol.body.decoding import decode_cluster_info, decode_kv_table, decode_topic_list
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.protocol.names import is_too_long

ROUTE_VALUES_MAX = 200_000
HEX_DIGITS_MAX = 16
# Broker groups that only the peer knows, of which topics may follow. This name server's own are bounded by its tables.
ONE_SIDED_MAX = 10_000

Differing = list[tuple[str, Value | None, Value | None]]
# Changes of a topic's digest, and what one topic with that change was found to differ in: so do all others.
Explained = Mapping[int, QueueDifference]


class GroupsFound(NamedTuple):
    """``groups`` of the peer, how many ``differ``, the first of those, and the names that only one of the two knows."""

    groups: int
    differ: int
    differing: Differing[GroupView]
    one_sided: frozenset[str]


class TopicsFound(NamedTuple):
    """How many ``differ``, and how many in each way that is explained. The first, and the first that only follow."""

    differ: int
    alike: Counter[int]
    differing: Differing[int]
    followers: Differing[int]


def differing_groups(own: Mapping[str, GroupView], body: bytes, name_bytes_max: int) -> GroupsFound:
    """Of an answer to 106. Differences are (name, own, theirs)."""
    groups = decode_cluster_info(body)
    theirs = group_views({name: group for name, group in groups.items() if _fits(name, group, name_bytes_max)})
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    only_theirs = [name for name in names if name not in own][:ONE_SIDED_MAX]
    one_sided = frozenset((*only_theirs, *(name for name in names if name not in theirs)))
    return GroupsFound(len(theirs), len(names), _differing(own, theirs, names), one_sided)


def _differing(own: Mapping[str, Value], theirs: Mapping[str, Value], names: Sequence[str]) -> Differing[Value]:
    return [(name, own.get(name), theirs.get(name)) for name in names[:SUSPECTS_MAX]]


def _fits(name: str, group: BrokerData, name_bytes_max: int) -> bool:
    texts = (name, group.cluster, group.zone_name, *group.broker_addrs.values())
    return not any(text is not None and is_too_long(text, name_bytes_max) for text in texts)


def differing_digests(own: Mapping[str, int], body: bytes, name_bytes_max: int, explained: Explained) -> TopicsFound:
    """Of an answer with the digests of one bucket."""
    digests = decode_kv_table(body)
    theirs = {topic: _number(text) for topic, text in digests.items() if not is_too_long(topic, name_bytes_max)}
    names = [name for name in sorted(own.keys() | theirs.keys()) if own.get(name) != theirs.get(name)]
    deltas = {name: delta(own.get(name), theirs.get(name)) for name in names}
    following = {change for change, detail in explained.items() if detail.follows}
    return TopicsFound(
        len(names), Counter(change for change in deltas.values() if change in explained),
        _differing(own, theirs, [name for name in names if deltas[name] not in following]),
        _differing(own, theirs, [name for name in names if deltas[name] in following]),
    )  # fmt: skip


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


def route_queues(body: bytes, name_bytes_max: int, own: int | None) -> tuple[int | None, dict[str, QueueData]]:
    """Of an answer to 105: see `read_queues`."""
    return read_queues(body, ROUTE_VALUES_MAX, name_bytes_max, own)
