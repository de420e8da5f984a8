"""What one peer says otherwise than this name server. It counts once two readings one after the other have found it.

Between two readings a broker has time to reach both name servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rocketns.fleet.comparing import Item, Kind
from rocketns.fleet.group_view import GroupView

View = GroupView | int | None
SUSPECTS_MAX = 200
READINGS_TO_LAST = 2


@dataclass(slots=True)
class Suspicion:
    """``theirs`` is what the peer said last."""

    since_epoch_ms: int
    theirs: View
    readings: int = 1

    @property
    def lasts(self) -> bool:
        return self.readings >= READINGS_TO_LAST


class Suspects:
    """At most SUSPECTS_MAX of each kind."""

    def __init__(self) -> None:
        self._found: dict[Item, Suspicion] = {}

    def judge(self, item: Item, own: View, theirs: View, epoch_ms: int) -> None:
        """One more reading of one thing."""
        known = self._found.get(item)
        if own == theirs:
            self._found.pop(item, None)
        elif known is not None:
            known.theirs, known.readings = theirs, known.readings + 1
        elif sum(one.kind is item.kind for one in self._found) < SUSPECTS_MAX:
            self._found[item] = Suspicion(epoch_ms, theirs)

    def keep(self, kind: Kind, names: Iterable[str]) -> None:
        """All things of a kind were read, and only these differ."""
        kept = set(names)
        for item in [item for item in self._found if item.kind is kind and item.name not in kept]:
            del self._found[item]

    def clear(self) -> None:
        """The peer cannot be read: what it says is not known."""
        self._found.clear()

    def names(self, kind: Kind) -> list[str]:
        """The things of a kind, lasting or not."""
        return [item.name for item in self._found if item.kind is kind]

    @property
    def has_new(self) -> bool:
        """Whether one more reading decides about some."""
        return any(not suspicion.lasts for suspicion in self._found.values())

    def lasting(self) -> Iterator[tuple[Item, Suspicion]]:
        """What counts."""
        return ((item, suspicion) for item, suspicion in self._found.items() if suspicion.lasts)

    def of(self, item: Item) -> Suspicion | None:
        """The suspicion about one thing, if it counts."""
        found = self._found.get(item)
        return found if found is not None and found.lasts else None
