"""Differences between one peer and this name server. A difference counts once two readings in a row have found it.

Between two readings a broker has time to reach both name servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.queue_view import QueueDifference, delta

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
        before = suspicions.get(item)
        if own == theirs:
            suspicions.pop(item, None)
        elif before is not None:
            before.theirs, before.readings = theirs, before.readings + 1
            former = before.detail if before.detail and before.detail.digests == (own, theirs) else None
            before.detail = detail or former
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
        differing, suspicions = set(names), self._suspicions[kind]
        for item in [item for item in suspicions if item.name not in differing]:
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


# Ways in which topics of one peer differ.
EXPLAINED_MAX = 256


class Compared:
    """A peer. ``explained``: what one topic with such a change of its digest differs in, and so do all of them.

    ``alike``: how many topics differ in each way.
    """

    def __init__(self, addr: str) -> None:
        self.addr = addr
        self.suspects = Suspects()
        self.explained: dict[int, QueueDifference] = {}
        self.alike: Counter[int] = Counter()
        self.one_sided: frozenset[str] = frozenset()

    def set_one_sided(self, groups: frozenset[str]) -> None:
        """The broker groups that only one of the two name servers knows."""
        if groups != self.one_sided:
            self.one_sided = groups
            self.explained.clear()
            self.suspects.forget_details()

    def judge_all(
        self, kind: FactKind, found: Iterable[tuple[str, Value | None, Value | None]], epoch_ms: int,
        last_detail: Callable[[Value | None, Value | None], QueueDifference | None] = lambda *_: None,
    ) -> None:  # fmt: skip
        """All things of a kind were read, and only these differ. ``last_detail``: in what, where it was read before."""
        listed = list(found)
        self.suspects.keep(kind, (name for name, _, _ in listed))
        for name, own, theirs in listed:
            self.suspects.judge(Item(kind, name), own, theirs, epoch_ms, last_detail(own, theirs))

    def last_detail(self, own: int | None, theirs: int | None) -> QueueDifference | None:
        """What a topic with these digests differs in, if another one with the same change was read."""
        detail = self.explained.get(delta(own, theirs))
        return None if detail is None else detail._replace(digests=(own, theirs))

    def note(self, detail: QueueDifference) -> None:
        """A topic was read that differs."""
        if len(self.explained) < EXPLAINED_MAX or detail.delta in self.explained:
            self.explained[detail.delta] = detail

    @property
    def following(self) -> int:
        """Topics that differ only in brokers which one of the two lacks."""
        return sum(count for change, count in self.alike.items() if _follows(self.explained.get(change)))

    def followers(self, group: str) -> int:
        """Of them, those that follow from this broker group."""
        details = ((self.explained.get(change), count) for change, count in self.alike.items())
        return sum(count for detail, count in details if detail is not None and group in detail.follows)
