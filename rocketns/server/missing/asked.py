"""The topics that were asked for and have no route: a bounded table, in which no host pushes out those of others.

Names are the peers'. A host that asks for made-up names fills the table with them, and then replaces its own: of the
topics of the hosts with the most topics, the one that was asked for longest ago leaves. So many hosts with one topic
each push out no topic that is asked for again within TOPICS_MAX / NEW_TOPICS_MAX seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import random
from typing import NamedTuple

from rocketns.processor.context import Now

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
        """Count lookups of a topic that found no route. A new topic waits for `take_new`. A few microseconds."""
        known = self._topics.pop(topic, None)
        if known is not None:
            self._topics[topic] = known
            known.note(lookups, peer, now)
            return
        if len(topic) <= TOPIC_CHARACTERS_MAX:
            self._note_new(topic, lookups, peer, owner, now)

    def _note_new(self, topic: str, lookups: int, peer: TopicAsker | None, owner: Owner, now: Now) -> None:
        waiting = self._waiting.get(owner, {})
        if topic not in waiting:
            if self._waits >= WAITING_MAX or len(waiting) >= (WAITING_OF_HOST_MAX if self._waits < FEW_WAIT else 1):
                return
            waiting[topic] = AskedTopic(topic, owner, now.epoch_ms, now.epoch_ms, now.ms)
            self._waiting[owner] = waiting
            self._waits += 1
        waiting[topic].note(lookups, peer, now)

    def take_new(self, now: Now) -> None:
        """Take some of the newcomers, and forget the others: whoever needs them asks again.

        Hosts take turns, those with the fewest topics first. Which ones come first of equals is chance.
        """
        owners = sorted(self._waiting, key=lambda owner: (len(self._owned.get(owner, ())), random()))
        turns = deque(iter(self._waiting[owner].values()) for owner in owners)
        left = NEW_TOPICS_MAX
        while turns and left > 0:
            waiting = turns.popleft()
            for one in islice(waiting, 1):
                self._add(one, now)
                turns.append(waiting)
                left -= 1
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

    def is_held(self, one: AskedTopic) -> bool:
        """Whether it is still in the table, and has no route."""
        return one.is_missing and self._topics.get(one.topic) is one

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
