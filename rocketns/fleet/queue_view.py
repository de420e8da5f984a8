"""What a peer says of a topic's queues otherwise than this name server, and which missing brokers explain it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from rocketns.fleet.digests import MASK, queues_digest, read_route
from rocketns.protocol.body.decoding import queue_data_from_json
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.names import is_too_long

# Of one topic at one peer, which has some hundred topics.
BROKERS_KEPT_MAX = 16

Queues = Mapping[str, QueueData]


class QueueDifference(NamedTuple):
    """``queues``: the first brokers of which the peer says something else; None: it has no queues of the topic there.

    ``more`` counts the other ones. ``follows``: the first brokers that only one of the two knows, if such brokers are
    all that differs. ``digests``: this name server's and the peer's at the reading.
    """

    queues: tuple[tuple[str, QueueData | None], ...]
    more: int
    follows: tuple[str, ...]
    digests: tuple[int | None, int | None]

    @property
    def delta(self) -> int:
        """Equal for topics that differ in the same queues of the same brokers."""
        return delta(*self.digests)


def delta(own: int | None, theirs: int | None) -> int:
    """A digest is a sum: the difference of two is that of the elements which only one of them has."""
    return (theirs or 0) - (own or 0) & MASK


def read_queues(
    body: bytes, values_max: int, name_bytes_max: int, own: int | None
) -> tuple[int | None, dict[str, QueueData]]:
    """Of an answer to 105: the digest of its queues, None if it has none, and the queues by broker.

    The queues are read only where the digest is another one than ``own``. Brokers with names of more than
    ``name_bytes_max`` bytes are left out. BodyDecodeError where the answer is no route.
    """
    route = read_route(body, values_max)
    digest = queues_digest(route) or None  # it checks the elements
    elements = [] if digest == own else route.get("queueDatas", [])
    return digest, {
        one["brokerName"]: queue_data_from_json(one)
        for one in elements
        if not is_too_long(one["brokerName"], name_bytes_max)
    }


def queue_difference(
    own: Queues, theirs: Queues, one_sided: Collection[str], digests: tuple[int | None, int | None]
) -> QueueDifference:
    """``one_sided``: the broker groups that only one of the two name servers knows."""
    names = sorted(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
    explained = bool(names) and all(name in one_sided for name in names)
    shown = tuple((name, theirs.get(name)) for name in names[:BROKERS_KEPT_MAX])
    return QueueDifference(
        shown, len(names) - len(shown), tuple(names[:BROKERS_KEPT_MAX]) if explained else (), digests
    )
