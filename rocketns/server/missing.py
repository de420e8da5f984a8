"""The topics that were asked for and have no route: who asked, the nearest names, and the log lines.

They are in a bounded table, in which no host pushes out those of others. Names are the peers'. A host that asks for
made-up names fills the table with them, and then replaces its own: of the topics of the hosts with the most topics, the
one that was asked for longest ago leaves. So many hosts with one topic each push out no topic that is asked for again
within TOPICS_MAX / NEW_TOPICS_MAX seconds.

An answer costs one more lookup in a small table. The nearest names are looked for afterwards, one topic at a time, for
STEP_NS of each tick: 1 % of control's time, however many names are made up. The next one is a topic whose line is due.
There is one line an hour for a topic, and so many a minute for all of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import random
from typing import NamedTuple

from rocketns.fleet.missing import PROBED, QUIET, MissingReason, creating_groups, has_route, in_words, why_missing
from rocketns.fleet.nearest import find_nearest
from rocketns.processor.context import Now
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.turns import by_turns

log = logging.getLogger("rocketns.missing")

TOPICS_MAX = 1_000
PEERS_MAX = 4  # of a topic, one address of each host
TOPIC_CHARACTERS_MAX = 255  # no real topic has more
# Newcomers that are taken in one second, the hosts by turns, and those that wait for it. The others are not noticed.
NEW_TOPICS_MAX = 32
WAITING_MAX = 1_024
WAITING_OF_HOST_MAX = 64
FEW_WAIT = 512  # from then on one of each host
FORGOTTEN_AFTER_MS = 3_600_000


class TopicAsker(NamedTuple):
    """Who asked: an account as `addresses.host_of` has it, and the address as people read it, mostly ip:port."""

    host: str
    address: str


Owner = str | int  # a host as text, or as one of the reactors' numbers
# Topic, lookups, the peer that asked last, and the host that asked first.
Counted = tuple[str, int, TopicAsker | None, Owner]


@dataclass(slots=True)
class AskedTopic:
    """A topic without a route. ``last_ms`` and ``said_ms`` are monotonic; ``owner`` is the host that asked first.

    ``said_ms``: when the log said so last. ``nearest``: None until it was looked for. ``is_missing``: it has a route
    again if not; then the topic stays, so that the log says no more of it than once an hour.
    """

    topic: str
    owner: Owner
    since_epoch_ms: int
    last_epoch_ms: int
    last_ms: int
    lookups: int = 0
    peers: dict[str, str] = field(default_factory=dict)  # by host
    nearest: tuple[str, ...] | None = None
    said_ms: int | None = None
    is_missing: bool = True

    def latest_peers(self) -> tuple[str, ...]:
        """Their addresses, the latest first."""
        return tuple(reversed(self.peers.values()))

    def note(self, lookups: int, peer: TopicAsker | None, now: Now) -> None:
        """Count lookups that found no route, the latest one of ``peer``."""
        if not self.is_missing:
            self.is_missing, self.since_epoch_ms, self.lookups, self.nearest = True, now.epoch_ms, 0, None
            self.peers.clear()
        self.lookups += lookups
        self.last_epoch_ms, self.last_ms = now.epoch_ms, now.ms
        if peer is not None:
            self.peers.pop(peer.host, None)
            self.peers[peer.host] = peer.address
            if len(self.peers) > PEERS_MAX:
                del self.peers[next(iter(self.peers))]


class AskedTopics:
    """Control only, but for `missing`, a number. Its topics are at most TOPICS_MAX."""

    def __init__(self) -> None:
        self._topics: dict[str, AskedTopic] = {}  # the one asked for longest ago first
        self._owned: dict[Owner, dict[str, None]] = {}
        self._waiting: dict[Owner, dict[str, AskedTopic]] = {}
        self._waits = 0
        self.missing = 0

    def note(self, topic: str, lookups: int, peer: TopicAsker | None, owner: Owner, now: Now) -> None:
        """Count lookups of a topic that found no route. A new topic waits for `admit_new`. A few microseconds."""
        asked = self._topics.pop(topic, None)
        if asked is not None:
            self._topics[topic] = asked
            asked.note(lookups, peer, now)
            return
        if len(topic) > TOPIC_CHARACTERS_MAX:
            return
        waiting = self._waiting.get(owner, {})
        if topic not in waiting:
            if self._waits >= WAITING_MAX or len(waiting) >= (WAITING_OF_HOST_MAX if self._waits < FEW_WAIT else 1):
                return
            waiting[topic] = AskedTopic(topic, owner, now.epoch_ms, now.epoch_ms, now.ms)
            self._waiting[owner] = waiting
            self._waits += 1
        waiting[topic].note(lookups, peer, now)

    def admit_new(self, now: Now) -> None:
        """Take some of the newcomers, and forget the others: whoever needs them asks again.

        Hosts take turns, those with the fewest topics first. Which ones come first of equals is chance.
        """
        owners = sorted(self._waiting, key=lambda owner: (len(self._owned.get(owner, ())), random()))
        for one in islice(by_turns(self._waiting[owner].values() for owner in owners), NEW_TOPICS_MAX):
            self._add(one, now)
        self._waiting, self._waits = {}, 0

    def sweep(self, has_route: Callable[[str], bool], now: Now) -> None:
        """Forget those that nobody asked for within an hour, and note which have a route by now."""
        old = [topic for topic, one in self._topics.items() if now.ms - one.last_ms >= FORGOTTEN_AFTER_MS]
        for topic in old:
            self._remove(topic)
        for topic, one in self._topics.items():
            if one.is_missing and has_route(topic):
                one.is_missing = False
        self.missing = sum(one.is_missing for one in self._topics.values())

    def all_missing(self) -> Iterator[AskedTopic]:
        """Those that have no route."""
        return (one for one in self._topics.values() if one.is_missing)

    def _add(self, one: AskedTopic, now: Now) -> None:
        if one.topic in self._topics:  # two hosts brought it
            latest = next((TopicAsker(*peer) for peer in reversed(one.peers.items())), None)
            self.note(one.topic, one.lookups, latest, one.owner, now)
            return
        if len(self._topics) >= TOPICS_MAX:
            self._make_room(one.owner)
        self._topics[one.topic] = one
        self._owned.setdefault(one.owner, {})[one.topic] = None

    def _make_room(self, newcomer: Owner) -> None:
        most = max(len(topics) for topics in self._owned.values())
        owners = (newcomer,) if len(self._owned.get(newcomer, ())) == most else self._owned
        self._remove(next(topic for topic, one in self._topics.items()
                          if one.owner in owners and len(self._owned[one.owner]) == most))  # fmt: skip

    def _remove(self, topic: str) -> None:
        one = self._topics.pop(topic)
        own = self._owned[one.owner]
        del own[topic]
        if not own:
            del self._owned[one.owner]


AGAIN_AFTER_MS = 3_600_000
LINES_MAX = 10  # at once; then one more every LINE_EVERY_MS
LINE_EVERY_MS = 6_000
MORE_AFTER_MS = 600_000  # between two lines that say how many topics wait for theirs
WHERE = "/api/v1/missing at the management port lists them"


class Lines:
    """Control only. Which topic has the next line, and its text."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = tables
        self._left = LINES_MAX
        self._gained_ms = 0
        self._said_more_ms = -MORE_AFTER_MS
        self._said_no_brokers_ms: int | None = None
        self._said_of: Counter[Owner] = Counter()
        self._counted_ms = 0

    def next_of(self, topics: Iterable[AskedTopic], now: Now) -> AskedTopic | None:
        """The topic whose line is due: of the host with the fewest lines within the hour, the first one."""
        self._gain(now)
        if not self._left and now.ms - self._said_more_ms < MORE_AFTER_MS:
            return None
        due = [one for one in topics if self._is_due(one, now)]
        if due and not self._left:
            self._said_more_ms = now.ms
            log.info("%d more topics without a route were asked for, and each gets its line later: at most %d lines a "
                     "minute are written. %s", len(due), 60_000 // LINE_EVERY_MS, WHERE)  # fmt: skip
            return None
        return min(due, key=lambda one: (self._said_of[one.owner], one.since_epoch_ms), default=None)

    def say(self, one: AskedTopic, now: Now) -> None:
        """Write its line."""
        groups = creating_groups(self._tables)
        why = why_missing(self._tables, one.topic, creates=bool(groups))
        self._left -= 1
        self._said_of[one.owner] += 1
        if why is MissingReason.NO_BROKERS:
            self._said_no_brokers_ms = now.ms  # the topic gets its own line when there are brokers
        else:
            one.said_ms = now.ms
        peers = ", ".join(one.latest_peers()) or "a peer that has left"
        nearest = f". The nearest names here: {', '.join(one.nearest)}" if one.nearest else ""
        log.info("no route for the topic %s, which %s asked for: %s%s",
                 one.topic, peers, in_words(why, one.topic, groups), nearest)  # fmt: skip

    def _is_due(self, one: AskedTopic, now: Now) -> bool:
        if one.said_ms is not None and now.ms - one.said_ms < AGAIN_AFTER_MS:
            return False
        if not self._tables.broker_addr_table:  # one line says it of all topics
            said = self._said_no_brokers_ms
            return said is None or now.ms - said >= AGAIN_AFTER_MS
        return why_missing(self._tables, one.topic, creates=False) not in QUIET

    def _gain(self, now: Now) -> None:
        if now.ms - self._counted_ms >= AGAIN_AFTER_MS:
            self._said_of.clear()
            self._counted_ms = now.ms
        if self._left == LINES_MAX:
            self._gained_ms = now.ms
        gained = (now.ms - self._gained_ms) // LINE_EVERY_MS
        self._left = min(LINES_MAX, self._left + gained)
        self._gained_ms += gained * LINE_EVERY_MS


TICK_MS = 1_000
STEP_NS = 10_000_000  # of each tick


class MissingWatch:
    """Control only, but for ``asked.missing``, a number. ``drain``: the lookups that the reactors answered."""

    def __init__(self, tables: RouteTables, clock: Clock) -> None:
        self.asked = AskedTopics()
        self.drain: Callable[[], Iterable[Counted]] = tuple
        self._tables = tables
        self._clock = clock
        self._lines = Lines(tables)
        self._search: Iterator[None] | None = None

    def note(self, topic: str | None, peer: Connection, now: Now) -> None:
        """A lookup that control answered found no route."""
        if topic and topic not in PROBED:
            self.asked.note(topic, 1, TopicAsker(peer.host, peer.address), peer.host, now)

    def tick(self) -> None:
        """Each second."""
        now, ends_ns = self._clock.now(), self._clock.spent_ns() + STEP_NS
        for topic, lookups, peer, owner in self.drain():
            if topic not in PROBED:
                self.asked.note(topic, lookups, peer, owner, now)
        self.asked.admit_new(now)
        self.asked.sweep(lambda topic: has_route(self._tables, topic), now)
        self._search = self._search or self._search_names()
        for _ in self._search:
            if self._clock.spent_ns() >= ends_ns:
                return
        self._search = None

    def _search_names(self) -> Iterator[None]:
        """Look for the nearest names of each topic in steps, and write the line of those for which it is due."""
        while True:
            line = self._lines.next_of(self.asked.all_missing(), self._clock.now())
            one = line or next((one for one in self.asked.all_missing() if one.nearest is None), None)
            if one is None:
                return
            one.nearest = yield from find_nearest(one.topic, self._tables.topic_queue_table)
            now = self._clock.now()
            if not has_route(self._tables, one.topic) and self._lines.next_of((one,), now) is one:
                self._lines.say(one, now)
