"""Differences between one peer and this name server. A difference counts once two readings in a row have found it.

Between two readings a broker has time to reach both name servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from rocketns.fleet.comparing import FactKind, Item
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
    """What a peer may differ in: at most SUSPECTS_MAX items of each kind."""

    def __init__(self) -> None:
        self._suspicions: dict[FactKind, dict[Item, Suspicion]] = {kind: {} for kind in FactKind}

    def judge(self, item: Item, own: View, theirs: View, epoch_ms: int) -> None:
        """One more reading of one thing."""
        suspicions = self._suspicions[item.kind]
        known = suspicions.get(item)
        if own == theirs:
            suspicions.pop(item, None)
        elif known is not None:
            known.theirs, known.readings = theirs, known.readings + 1
        elif len(suspicions) < SUSPECTS_MAX:
            suspicions[item] = Suspicion(epoch_ms, theirs)

    def keep(self, kind: FactKind, names: Iterable[str]) -> None:
        """All things of a kind were read, and only these differ."""
        kept, suspicions = set(names), self._suspicions[kind]
        for item in [item for item in suspicions if item.name not in kept]:
            del suspicions[item]

    def worth(
        self, kind: FactKind, differing: Iterable[tuple[str, View, View]], room: int
    ) -> list[tuple[str, View, View]]:
        """The differences to `judge`: all that are suspected already, and the first ``room`` of the others."""
        suspicions, chosen = self._suspicions[kind], []
        for one in differing:
            is_new = Item(kind, one[0]) not in suspicions
            if not is_new or room > 0:
                chosen.append(one)
                room -= is_new
        return chosen

    def clear(self) -> None:
        """The peer cannot be read: what it says is not known."""
        for suspicions in self._suspicions.values():
            suspicions.clear()

    def names(self, kind: FactKind) -> list[str]:
        """The things of a kind, lasting or not."""
        return [item.name for item in self._suspicions[kind]]

    @property
    def has_new(self) -> bool:
        """Whether one more reading would decide about a suspicion."""
        return any(not suspicion.lasts for _, suspicion in self._all())

    def lasting(self) -> Iterator[tuple[Item, Suspicion]]:
        """The suspicions that count as differences."""
        return ((item, suspicion) for item, suspicion in self._all() if suspicion.lasts)

    def _all(self) -> Iterator[tuple[Item, Suspicion]]:
        return chain.from_iterable(suspicions.items() for suspicions in self._suspicions.values())

    def of(self, item: Item) -> Suspicion | None:
        """The suspicion about one thing, if it counts."""
        suspicion = self._suspicions[item.kind].get(item)
        return suspicion if suspicion is not None and suspicion.lasts else None
