"""What is asked next, within a budget of requests: brokers, names of topics, KV items and the configuration each after
a fixed time; routes of suspected topics first, then those of all topics in turn. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

# Topics of one name server. One with more is not watched.
TOPICS_MAX = 200_000
# Names of topics that brokers had which are gone, all together: they are asked at once when their broker comes back.
DEPARTED_TOPICS_MAX = 1_000_000
# Topics that only another name server of the same collector shows, and which are looked up here, too.
STRANGERS_MAX = 10_000
NAMES_EVERY_S = 10.0
SETTINGS_EVERY_S = 60.0


class PollKind(IntEnum):
    """What is asked. The smaller is the more urgent."""

    GROUPS = 0
    NAMES = 1
    KV = 2
    CONFIGURATION = 3
    ROUTE = 4


class Ask(NamedTuple):
    """One request. ``name`` is a namespace or a topic, where the kind has one."""

    kind: PollKind
    name: str = ""


GROUPS, NAMES, CONFIGURATION = Ask(PollKind.GROUPS), Ask(PollKind.NAMES), Ask(PollKind.CONFIGURATION)


@dataclass(slots=True)
class _Timer:
    every_s: float
    due_s: float = 0.0
    is_asked: bool = False


class Schedule:
    """``polls``: all that is asked. At first everything is due."""

    def __init__(self, interval_s: float, namespaces: Sequence[str]) -> None:
        kv = [Ask(PollKind.KV, namespace) for namespace in namespaces]
        self._timers = {GROUPS: _Timer(interval_s), NAMES: _Timer(NAMES_EVERY_S)}
        self._timers |= {ask: _Timer(SETTINGS_EVERY_S) for ask in (*kv, CONFIGURATION)}

    @property
    def polls(self) -> list[Ask]:
        return list(self._timers)

    @property
    def per_second(self) -> float:
        """Requests a second, all together."""
        return sum(1 / timer.every_s for timer in self._timers.values())

    def next(self, now_s: float, kinds: Collection[PollKind]) -> Ask | None:
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

    def wait_s(self, now_s: float, kinds: Collection[PollKind]) -> float:
        """How long until something of these kinds is due."""
        waiting = [timer.due_s for ask, timer in self._timers.items() if not timer.is_asked and ask.kind in kinds]
        return max(0.0, min(waiting, default=now_s + SETTINGS_EVERY_S) - now_s)


class PollBudget:
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


UNKNOWN = b""


class SeenTopic(NamedTuple):
    """The last that is known of a topic: when the request that showed it was sent, in epoch ms and loop time.

    ``digest`` is that of the answer's body; UNKNOWN: any answer must be decoded. Without ``is_answered`` there was no
    answer yet: ``sent_ms`` is then when a list of all topics did not have it.
    """

    digest: bytes
    sent_ms: int
    sent_s: float
    is_answered: bool


class Rounds:
    """A round begins ``pause_s`` after the last one began, or later. ``count``: whole rounds; ``last_s``: how long the
    last one took. ``unanswered``: topics without an answer.
    """

    def __init__(self, pause_s: float) -> None:
        self.seen: dict[str, SeenTopic] = {}
        self.count = 0
        self.last_s: float | None = None
        self.unanswered = 0
        self._pause_s = pause_s
        self._began_s = float("-inf")
        self._is_running = False
        self._turn: deque[str] = deque()
        self._suspects: dict[str, None] = {}
        self._strangers = 0
        self._asked: set[str] = set()

    def keep(self, names: Collection[str], absent_ms: int, now_s: float) -> list[str]:
        """These are all topics. The new ones, which are asked next; they were absent at ``absent_ms``."""
        for gone in [topic for topic in self.seen if topic not in names]:
            self.forget(gone)
        new = [topic for topic in names if topic not in self.seen]
        for topic in new:
            self._put(topic, SeenTopic(UNKNOWN, absent_ms, now_s, is_answered=False))
        self.suspect(new)
        return new

    def restore(self, names: Iterable[str], sent_ms: int, now_s: float) -> None:
        """Topics whose routes are known of an earlier time."""
        for topic in names:
            self._put(topic, SeenTopic(UNKNOWN, sent_ms, now_s, is_answered=True))

    def looked_ms(self, now_ms: int) -> int:
        """Each topic was looked at then or later, epoch ms."""
        return min((seen.sent_ms for seen in self.seen.values()), default=now_ms)

    def read_anew(self) -> None:
        """No topic counts as answered any more."""
        for topic, seen in self.seen.items():
            self.seen[topic] = seen._replace(digest=UNKNOWN, is_answered=False)
        self.unanswered = len(self.seen)

    def suspect(self, topics: Iterable[str], *, distrust: bool = False) -> None:
        """Ask for these soon. ``distrust``: also an answer that did not change is decoded."""
        for topic in topics:
            seen = self.seen.get(topic)
            if seen is not None and distrust:
                self.seen[topic] = seen._replace(digest=UNKNOWN)
            if topic in self._suspects or (seen is None and self._strangers >= STRANGERS_MAX):
                continue
            self._suspects[topic] = None
            self._strangers += seen is None

    def next(self, now_s: float) -> str | None:
        """The topic to ask for. Call `answered` or `failed` when that ended. None: none now, see `wait_s`."""
        topic = next((one for one in self._suspects if one not in self._asked), None)
        self._step_round(now_s)
        if topic is not None:
            del self._suspects[topic]
            self._strangers -= topic not in self.seen
        elif self._turn:
            topic = self._turn.popleft()
        if topic is not None:
            self._asked.add(topic)
        return topic

    def _step_round(self, now_s: float) -> None:
        """End the round when everything was asked and answered, and begin the next when it is time."""
        self._skip()
        if self._is_running and not self._turn and not self._asked:
            self._is_running = False
            self.last_s, self.count = now_s - self._began_s, self.count + 1
        if not self._is_running and self.seen and now_s >= self._began_s + self._pause_s:
            self._is_running, self._began_s, self._turn = True, now_s, deque(self.seen)
            self._skip()

    def _skip(self) -> None:
        """Pass over topics that are gone, that are being asked, and that had their turn since the round began."""
        while self._turn:
            seen = self.seen.get(self._turn[0])
            had_turn = seen is not None and seen.is_answered and seen.sent_s >= self._began_s
            if seen is not None and not had_turn and self._turn[0] not in self._asked:
                break
            self._turn.popleft()

    def wait_s(self, now_s: float) -> float:
        """How long until a round may begin, if nothing else happens."""
        if self._is_running or not self.seen:
            return self._pause_s
        return max(0.0, self._began_s + self._pause_s - now_s)

    def answered(self, topic: str, seen: SeenTopic, *, exists: bool) -> None:
        """There was an answer. A topic that no list has is known from now on if it has a route, and there is room."""
        self._asked.discard(topic)
        if topic in self.seen or (exists and len(self.seen) < TOPICS_MAX):
            self._put(topic, seen)

    def failed(self, topic: str, *, again: bool = False) -> None:
        """There was no usable answer. ``again``: ask once more, soon; otherwise in the next round."""
        self._asked.discard(topic)
        if again:
            self.suspect((topic,))

    def _put(self, topic: str, seen: SeenTopic) -> None:
        before = self.seen.get(topic)
        self.unanswered += (not seen.is_answered) - (before is not None and not before.is_answered)
        self._strangers -= before is None and topic in self._suspects
        self.seen[topic] = seen

    def forget(self, topic: str) -> None:
        """It is no topic any more, and is not asked for: a list of other names each time would let suspects grow."""
        self.unanswered -= not self.seen.pop(topic).is_answered
        self._suspects.pop(topic, None)


class Departed:
    """At most DEPARTED_TOPICS_MAX names. Beyond it the broker that went first is forgotten."""

    def __init__(self) -> None:
        self._topics: dict[str, tuple[str, ...]] = {}
        self._count = 0

    def put(self, broker_name: str, topics: Collection[str]) -> None:
        """The broker went, or lost these topics."""
        known = self._topics.pop(broker_name, ())
        self._topics[broker_name] = (*known, *topics)
        self._count += len(topics)
        while self._count > DEPARTED_TOPICS_MAX:
            self.take(next(iter(self._topics)))

    def take(self, broker_name: str) -> tuple[str, ...]:
        """What it had; it is forgotten."""
        topics = self._topics.pop(broker_name, ())
        self._count -= len(topics)
        return topics
