"""Differences between one peer and this name server. A difference counts once two readings in a row have found it.

Between two readings a broker has time to reach both name servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.queue_view import QueueDifference

View = GroupView | int | None
Value = TypeVar("Value", GroupView, int)
# Of each kind; topics that only follow from a missing broker have as much room of their own.
SUSPECTS_MAX = 200
READINGS_TO_LAST = 2


@dataclass(slots=True)
class Suspicion:
    """``theirs`` is what the peer said last; ``detail``: what it says of the queues of a topic, once that is known."""

    since_epoch_ms: int
    theirs: View
    readings: int = 1
    detail: QueueDifference | None = None

    @property
    def lasts(self) -> bool:
        return self.readings >= READINGS_TO_LAST


class Suspects:
    """What a peer may differ in: at most SUSPECTS_MAX items of each kind, and as many topics that only follow."""

    def __init__(self) -> None:
        self._suspicions: dict[FactKind, dict[Item, Suspicion]] = {kind: {} for kind in FactKind}

    def judge(self, item: Item, own: View, theirs: View, epoch_ms: int, detail: QueueDifference | None = None) -> None:
        """One more reading of one thing, and of a topic's route if it was read."""
        suspicions = self._suspicions[item.kind]
        known = suspicions.get(item)
        if own == theirs:
            suspicions.pop(item, None)
        elif known is not None:
            known.theirs, known.readings = theirs, known.readings + 1
            known.detail = detail or (known.detail if known.detail and known.detail.digests == (own, theirs) else None)
        elif self._has_room(item.kind, detail):
            suspicions[item] = Suspicion(epoch_ms, theirs, detail=detail)

    def _has_room(self, kind: FactKind, detail: QueueDifference | None) -> bool:
        suspicions = self._suspicions[kind]
        if len(suspicions) < SUSPECTS_MAX:
            return True
        follows = _follows(detail)
        return sum(_follows(one.detail) == follows for one in suspicions.values()) < SUSPECTS_MAX

    def keep(self, kind: FactKind, names: Iterable[str]) -> None:
        """All things of a kind were read, and only these differ."""
        kept, suspicions = set(names), self._suspicions[kind]
        for item in [item for item in suspicions if item.name not in kept]:
            del suspicions[item]

    def worth(
        self, kind: FactKind, differing: Iterable[tuple[str, Value | None, Value | None]], room: int
    ) -> list[tuple[str, Value | None, Value | None]]:
        """The differences to `judge`: all that are suspected already, and the first ``room`` of the others."""
        suspicions, chosen = self._suspicions[kind], []
        for one in differing:
            is_new = Item(kind, one[0]) not in suspicions
            if not is_new or room > 0:
                chosen.append(one)
                room -= is_new
        return chosen

    def unread(self) -> list[tuple[str, View]]:
        """The topics whose queues are not known as they are now, with what the peer said last."""
        return [(item.name, one.theirs) for item, one in self._suspicions[FactKind.TOPIC].items() if one.detail is None]

    def explain(self, topic: str, detail: QueueDifference) -> None:
        """What differs in the queues of a suspected topic."""
        suspicion = self._suspicions[FactKind.TOPIC].get(Item(FactKind.TOPIC, topic))
        if suspicion is not None:
            suspicion.theirs, suspicion.detail = detail.digests[1], detail

    def forget_details(self) -> None:
        """Other brokers are missing now: which topics follow from them is not known."""
        for suspicion in self._suspicions[FactKind.TOPIC].values():
            suspicion.detail = None

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


def _follows(detail: QueueDifference | None) -> bool:
    return detail is not None and bool(detail.follows)
