"""What this name server knows of the fleet at one instant. Values that never change: any thread may read them."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.fleet.comparing import FactKind

OWN = "this name server"


@dataclass(frozen=True, slots=True)
class Member:
    """One name server. Times are epoch milliseconds; a number is None while it is not known.

    ``kind``: ``rocketns``, ``other`` (Java's: it has no digests), or empty. ``error``: why it cannot be read, empty if
    it can; ``since_epoch_ms`` is since when. ``differing_brokers`` and ``differing_topics`` count the differences from
    this one that two readings in a row found.
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

    @property
    def is_readable(self) -> bool:
        return not self.error


@dataclass(frozen=True, slots=True)
class Side:
    """What some members say of one thing: ``missing``, the addresses of a broker group, or a topic's digest."""

    value: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Members that can be read do not say the same. Names come from peers: escape them where they are shown."""

    kind: FactKind
    name: str
    since_epoch_ms: int
    sides: tuple[Side, ...]

    def __str__(self) -> str:
        return "; ".join(f"{', '.join(side.members)}: {side.value}" for side in self.sides)


@dataclass(frozen=True, slots=True)
class FleetState:
    """The first member is this name server. ``omitted`` disagreements are not listed, because there are too many."""

    at_epoch_ms: int
    members: tuple[Member, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    omitted: int = 0
