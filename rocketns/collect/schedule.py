"""What is asked next, within a budget of requests: brokers, names of topics, KV items and the configuration each after
a fixed time; routes of suspected topics first, then those of all topics in turn. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import NamedTuple

from rocketns.collect.asking import CONFIGURATION, GROUPS, NAMES, Ask
from rocketns.protocol.codes import RESERVED_NAMESPACES, RequestCode

# Topics of one name server. One with more is not watched.
TOPICS_MAX = 200_000
NAMES_EVERY_S = 10.0
SETTINGS_EVERY_S = 60.0
KV = tuple(Ask(RequestCode.GET_KVLIST_BY_NAMESPACE, namespace) for namespace in RESERVED_NAMESPACES)
POLLS = (GROUPS, NAMES, *KV, CONFIGURATION)  # the more urgent ones first


class Schedule:
    """When each of the polls is due. At first all are."""

    def __init__(self, interval_s: float) -> None:
        self._every_s = dict.fromkeys(POLLS, SETTINGS_EVERY_S) | {GROUPS: interval_s, NAMES: NAMES_EVERY_S}
        self._due_s = dict.fromkeys(POLLS, 0.0)
        self._asked: set[Ask] = set()

    def next(self, now_s: float, among: Collection[Ask]) -> Ask | None:
        """The most urgent of these polls that is due, and is not waited for. Call `done` when it ended."""
        for ask, due_s in self._due_s.items():
            if due_s <= now_s and ask in among and ask not in self._asked:
                self._asked.add(ask)
                self._due_s[ask] = now_s + self._every_s[ask]
                return ask
        return None

    def done(self, ask: Ask) -> None:
        """It was answered, or given up."""
        self._asked.discard(ask)

    def retry(self, ask: Ask, now_s: float) -> None:
        """It had no usable answer: ask again when the brokers are read again, or soon after."""
        self._due_s[ask] = min(self._due_s[ask], now_s + self._every_s[GROUPS])

    def all_due(self, now_s: float) -> None:
        """Ask for everything as soon as possible; for the brokers, which were just read, as always."""
        self._due_s = dict.fromkeys(POLLS, now_s) | {GROUPS: self._due_s[GROUPS]}

    def wait_s(self, now_s: float, among: Collection[Ask]) -> float:
        """How long until one of these polls is due."""
        waiting = [due_s for ask, due_s in self._due_s.items() if ask in among and ask not in self._asked]
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

    def rest(self, now_s: float, spent_s: float) -> None:
        """To read an answer took so long. The next request waits as long, so others have half of the time."""
        self._next_s = max(self._next_s, now_s + spent_s)


UNKNOWN = b""


class SeenTopic(NamedTuple):
    """The last that is known of a topic: when the request that showed it was sent, in epoch ms and loop time.

    ``digest`` is that of the answer's body; UNKNOWN: any answer must be decoded. Before there was an answer the times
    are those of the list of topics that did not have it.
    """

    digest: bytes
    sent_ms: int
    sent_s: float


class Rounds:
    """The topics that exist (``seen``), and which of them is asked next: suspects first, then each in a round.

    ``unanswered``: those whose route was never read. A round begins ``pause_s`` after the one before began, or when
    that one ends. ``count`` and ``last_s``: of rounds that ended.
    """

    def __init__(self, pause_s: float) -> None:
        self.seen: dict[str, SeenTopic] = {}
        self.unanswered: set[str] = set()
        self.count = 0
        self.last_s: float | None = None
        self.pause_s = pause_s
        self._suspects: dict[str, None] = {}
        self._turn: deque[str] = deque()
        self._asked: set[str] = set()
        self._began_s = float("-inf")
        self._is_running = False

    def replace(self, names: Collection[str], absent_ms: int, now_s: float) -> list[str]:
        """These are all topics. The new ones, which are asked next; they were absent at ``absent_ms``."""
        for gone in [topic for topic in self.seen if topic not in names]:
            del self.seen[gone]
            self._suspects.pop(gone, None)
        new = [topic for topic in names if topic not in self.seen]
        self.seen |= dict.fromkeys(new, SeenTopic(UNKNOWN, absent_ms, now_s))
        self.unanswered = (self.unanswered & self.seen.keys()) | set(new)
        self.suspect(new)
        return new

    def restore(self, names: Iterable[str], sent_ms: int, now_s: float) -> None:
        """Topics whose routes are known of an earlier time."""
        self.seen = dict.fromkeys(names, SeenTopic(UNKNOWN, sent_ms, now_s))

    def looked_ms(self, now_ms: int) -> int:
        """Each topic was looked at then or later, epoch ms."""
        return min((seen.sent_ms for seen in self.seen.values()), default=now_ms)

    def read_anew(self) -> None:
        """No topic counts as answered any more."""
        self.suspect(self.seen, distrust=True)
        self.unanswered = set(self.seen)

    def suspect(self, topics: Iterable[str], *, distrust: bool = False) -> None:
        """Ask for these soon, if they exist. ``distrust``: also an answer that did not change is decoded."""
        for topic in [topic for topic in topics if topic in self.seen]:
            self._suspects[topic] = None
            if distrust:
                self.seen[topic] = self.seen[topic]._replace(digest=UNKNOWN)

    def next(self, now_s: float) -> str | None:
        """The topic to ask for. Call `answered` or `failed` when that ended. None: none now, see `wait_s`."""
        topic = next((one for one in self._suspects if one not in self._asked), None)
        self._step_round(now_s)
        if topic is not None:
            del self._suspects[topic]
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
        if not self._is_running and self.seen and now_s >= self._began_s + self.pause_s:
            self._is_running, self._began_s, self._turn = True, now_s, deque(self.seen)
            self._skip()

    def _skip(self) -> None:
        """Pass over topics that are gone, and that are being asked."""
        while self._turn and (self._turn[0] in self._asked or self._turn[0] not in self.seen):
            self._turn.popleft()

    def wait_s(self, now_s: float) -> float:
        """How long until a round may begin, if nothing else happens."""
        if self._is_running or not self.seen:
            return self.pause_s
        return max(0.0, self._began_s + self.pause_s - now_s)

    def answered(self, topic: str, seen: SeenTopic) -> None:
        """There was an answer."""
        self._asked.discard(topic)
        self.unanswered.discard(topic)
        if topic in self.seen:
            self.seen[topic] = seen

    def failed(self, topic: str, *, again: bool = False) -> None:
        """There was no usable answer. ``again``: ask once more, soon; otherwise in the next round."""
        self._asked.discard(topic)
        if again:
            self.suspect((topic,))
