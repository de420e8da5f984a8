"""What this name server knows of the fleet at one instant. Values that never change: any thread may read them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocketns.fleet.comparing import FactKind
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import QueueData

OWN = "this name server"
MISSING = "missing"  # what a side says that lacks the thing


@dataclass(frozen=True, slots=True)
class Member:
    """One name server. Times are epoch milliseconds; a number is None while it is not known.

    ``kind``: ``rocketns``, ``other`` (Java's: it has no digests), or empty. ``error``: why it cannot be read, empty if
    it can; ``since_epoch_ms`` is since when. ``differing_brokers`` and ``differing_topics`` count the differences from
    this one that two readings in a row found; ``following_topics`` are those of them that differ only in brokers which
    one of the two lacks.
    """

    addr: str
    kind: str
    error: str
    since_epoch_ms: int
    read_epoch_ms: int | None
    broker_groups: int | None
    topics: int | None
    differing_brokers: int = 0
    differing_topics: int = 0
    following_topics: int = 0

    @property
    def is_readable(self) -> bool:
        return not self.error


class Part(StrEnum):
    """What may differ, in the order of harm."""

    MISSING = "missing"
    BROKERS = "brokers"
    CLUSTER = "cluster"
    ADDRESSES = "addresses"
    PERMISSION = "permission"
    QUEUES = "queues"
    FLAGS = "flags"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Side:
    """What some members say of one thing. ``value``: the same in words.

    ``group``: a broker group as they show it; ``queues``: of a topic, the queues of the brokers that differ, None where
    these members have no queues there. Both are None where the members lack the thing, or its queues were not read yet.
    """

    value: str
    members: tuple[str, ...]
    group: GroupView | None = None
    queues: tuple[tuple[str, QueueData | None], ...] | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Members that can be read do not say the same. Names come from peers: escape them where they are shown.

    ``parts``: what differs. ``follows``: the broker groups from whose absence a topic's disagreement follows, if it has
    no other cause. ``topics``: of a broker group, how many topics follow from it; of a topic, how many differ alike.
    """

    kind: FactKind
    name: str
    since_epoch_ms: int
    sides: tuple[Side, ...]
    parts: tuple[Part, ...] = ()
    follows: tuple[str, ...] = ()
    topics: int = 0

    def __str__(self) -> str:
        return "; ".join(f"{', '.join(side.members)}: {side.value}" for side in self.sides)


@dataclass(frozen=True, slots=True)
class FleetState:
    """The first member is this name server. ``omitted`` disagreements are not listed, because there are too many."""

    at_epoch_ms: int
    members: tuple[Member, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    omitted: int = 0
