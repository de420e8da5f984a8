"""What is asked again after a fixed time: brokers, names of topics, KV items, the configuration. Pure: see `Budget`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

NAMES_EVERY_S = 10.0
SETTINGS_EVERY_S = 60.0


class Kind(IntEnum):
    """What is asked. The smaller is the more urgent."""

    GROUPS = 0
    NAMES = 1
    KV = 2
    CONFIGURATION = 3
    ROUTE = 4


class Ask(NamedTuple):
    """One request. ``name`` is a namespace or a topic, where the kind has one."""

    kind: Kind
    name: str = ""


GROUPS, NAMES, CONFIGURATION = Ask(Kind.GROUPS), Ask(Kind.NAMES), Ask(Kind.CONFIGURATION)


@dataclass(slots=True)
class _Timer:
    every_s: float
    due_s: float = 0.0
    is_asked: bool = False


class Schedule:
    """``polls``: all that is asked. At first everything is due."""

    def __init__(self, interval_s: float, namespaces: Sequence[str]) -> None:
        kv = [Ask(Kind.KV, namespace) for namespace in namespaces]
        self._timers = {GROUPS: _Timer(interval_s), NAMES: _Timer(NAMES_EVERY_S)}
        self._timers |= {ask: _Timer(SETTINGS_EVERY_S) for ask in (*kv, CONFIGURATION)}

    @property
    def polls(self) -> list[Ask]:
        return list(self._timers)

    @property
    def per_second(self) -> float:
        """Requests a second, all together."""
        return sum(1 / timer.every_s for timer in self._timers.values())

    def next(self, now_s: float, kinds: Collection[Kind]) -> Ask | None:
        """The most urgent poll of these kinds that is due, and is not waited for. Call `done` when it ended."""
        for ask, timer in self._timers.items():
            if timer.due_s <= now_s and not timer.is_asked and ask.kind in kinds:
                timer.is_asked, timer.due_s = True, now_s + timer.every_s
                return ask
        return None

    def done(self, ask: Ask) -> None:
        """It was answered, or given up."""
        self._timers[ask].is_asked = False

    def retry(self, ask: Ask, now_s: float) -> None:
        """It had no usable answer: ask again when the brokers are read again, or soon after."""
        timer = self._timers[ask]
        timer.due_s = min(timer.due_s, now_s + self._timers[GROUPS].every_s)

    def all_due(self, now_s: float, *, with_groups: bool = False) -> None:
        """Ask for everything as soon as possible; for the brokers only where that is said."""
        for ask, timer in self._timers.items():
            if with_groups or ask != GROUPS:
                timer.due_s = now_s

    def wait_s(self, now_s: float, kinds: Collection[Kind]) -> float:
        """How long until something of these kinds is due."""
        waiting = [timer.due_s for ask, timer in self._timers.items() if not timer.is_asked and ask.kind in kinds]
        return max(0.0, min(waiting, default=now_s + SETTINGS_EVERY_S) - now_s)


class Budget:
    """``spent`` counts the requests. Polls and lookups share the slots: the most urgent request gets the next one."""

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self.spent = 0
        self._next_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """How long until the next request may be sent; 0: now."""
        return max(0.0, self._next_s - now_s)

    def spend(self, now_s: float) -> None:
        """A request is sent. A slot that nobody used is lost: no second has more than its share."""
        self._next_s = max(now_s, self._next_s) + 1 / self.per_second
        self.spent += 1

    def rest(self, now_s: float, took_s: float) -> None:
        """To read an answer took so long. The next request waits as long, so others have half of the time."""
        self._next_s = max(self._next_s, now_s + took_s)
