"""What the answers of one name server change, and since when: a change came after the request before was sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple, Protocol

from rocketns.client.name_server import UnusableError, decoded
from rocketns.collect.observing import Observed
from rocketns.collect.schedule import CONFIGURATION, GROUPS, NAMES, TOPICS_MAX, Ask, Departed, Rounds, SeenTopic
from rocketns.protocol.body.decoding import (
    decode_cluster_info,
    decode_kv_table,
    decode_route_without_brokers,
    decode_topic_list,
)
from rocketns.protocol.body.route import BrokerData
from rocketns.routeinfo.events import BrokerDown, Event, TopicsDeleted

DIGEST_BYTES = 16
NO_ROUTE = b"-"


class Moment(NamedTuple):
    """When a request was sent, or something happened: epoch ms, and loop time."""

    ms: int
    s: float


class Others(Protocol):
    """The other name servers of the same collector."""

    def topics_of(self, broker_name: str) -> Iterable[str]: ...
    def suspect(self, topics: Collection[str]) -> None: ...


class Watch:
    """``record`` takes the events of an answer, and since when they may have happened.

    ``unreadable`` are the topics whose route is none.
    """

    def __init__(
        self, observed: Observed, rounds: Rounds, others: Others, record: Callable[[list[Event], int], None]
    ) -> None:
        self.observed = observed
        self.rounds = rounds
        self.unreadable: set[str] = set()
        self._others = others
        self._record = record
        self._departed = Departed()
        self._came_ms: dict[str, int] = {}  # broker groups that came, and when they were not there
        self._sent: dict[Ask, int] = {}  # when the last answer to each poll was asked for
        self._digests: dict[Ask, bytes] = {}
        self._listed: set[str] = set()
        self._changed_s = float("-inf")

    def restore(self, known_ms: int, topics_ms: int, now_s: float) -> None:
        """The tables were filled with what was there at ``known_ms``; each topic was looked at after ``topics_ms``."""
        self._sent = {GROUPS: known_ms, NAMES: known_ms}
        self.rounds.restore(self.observed.tables.topic_queue_table, topics_ms, now_s)

    def is_new(self, ask: Ask, body: bytes | None, sent: Moment) -> bool:
        """Whether the answer to a poll differs from the one before. One that does not needs no decoding."""
        if self._digests.get(ask) != digest(body):
            return True
        self._sent[ask] = sent.ms
        return False

    def _note(self, ask: Ask, body: bytes | None, sent: Moment) -> int:
        """This answer counts from now on. Since when its changes may have happened."""
        since_ms = self._sent.get(ask, sent.ms)
        self._sent[ask], self._digests[ask] = sent.ms, digest(body)
        return since_ms

    def vanished(self, found: Mapping[str, BrokerData]) -> list[str]:
        """Addresses of members that are not in the groups that were found."""
        there = {addr for group in found.values() for addr in group.broker_addrs.values()}
        groups = self.observed.tables.broker_addr_table.values()
        return [addr for group in groups for addr in group.broker_addrs.values() if addr not in there]

    def groups(
        self, body: bytes, found: Mapping[str, BrokerData], sent: Moment, now_s: float, asked: Mapping[str, str]
    ) -> None:
        """All broker groups. ``asked``: what brokers said that are gone. Topics of changed groups are asked next."""
        since_ms = self._note(GROUPS, body, sent)
        before = set(self.observed.tables.broker_addr_table)
        events = self.observed.groups(found)
        if not events:
            return
        self._changed_s = now_s
        self._note_groups(events, before, since_ms)
        self._record([_with_asked(event, asked) for event in events], since_ms)

    def _note_groups(self, events: list[Event], before: set[str], since_ms: int) -> None:
        for event in events:
            if isinstance(event, TopicsDeleted):
                if event.broker_name not in self.observed.tables.broker_addr_table:
                    self._departed.put(event.broker_name, event.topics)
                self.rounds.suspect(event.topics, distrust=True)
        for name in dict.fromkeys(name for event in events if (name := _broker(event)) is not None):
            self.rounds.suspect(self._topics_of(name, is_new=name not in before), distrust=True)
            if name not in before:
                self._came_ms[name] = since_ms
            elif name not in self.observed.tables.broker_addr_table:
                self._came_ms.pop(name, None)

    def _topics_of(self, broker_name: str, *, is_new: bool) -> list[str]:
        """Topics of a group that changed; of one that came, those that it had, and those that it has elsewhere."""
        held = self.observed.tables.broker_topics.get(broker_name)
        found = dict.fromkeys(() if held is None else held.names)
        if is_new:
            found |= dict.fromkeys(self._departed.take(broker_name))
            found |= dict.fromkeys(self._others.topics_of(broker_name))
        return list(found)

    def names(self, body: bytes, sent: Moment, now_s: float) -> None:
        """The names of all topics. A topic that a later request found stays: the list is older."""
        names = set(decoded(body, decode_topic_list))
        if len(names) > TOPICS_MAX:
            raise UnusableError(f"it has {len(names)} topics, and at most {TOPICS_MAX} are watched")
        since_ms, self._listed = self._note(NAMES, body, sent), set(names)
        names |= {topic for topic, seen in self.rounds.seen.items()
                  if seen.sent_s >= sent.s and seen.is_answered and seen.digest != NO_ROUTE}  # fmt: skip
        gone = [topic for topic in self.rounds.seen if topic not in names]
        events = self.observed.topic_names(names)
        new = self.rounds.keep(names, since_ms, now_s)
        self.unreadable &= names
        if events:
            self._changed_s = now_s
            self._record(events, since_ms)
        self._others.suspect([*gone, *new])

    def no_names(self, now_s: float) -> None:
        """There is no list of topics: none is known."""
        self._listed.clear()
        self.rounds.keep((), 0, now_s)
        self._record(self.observed.topic_names(()), self._sent.get(NAMES, 0))

    def kv(self, ask: Ask, body: bytes | None, sent: Moment) -> None:
        """All items of a namespace; None: there is none."""
        items = {} if body is None else decoded(body, decode_kv_table)
        self._record(self.observed.kv_items(ask.name, items), self._note(ask, body, sent))

    def configuration(self, body: bytes, sent: Moment) -> None:
        """All properties."""
        events = self.observed.configuration(body.decode("utf-8", "replace"))
        self._record(events, self._note(CONFIGURATION, body, sent))

    def route(self, topic: str, body: bytes | None, sent: Moment) -> None:
        """The route of a topic; None: there is none. An answer that may be older than a change is asked for again."""
        if sent.s < self._changed_s:
            self.rounds.failed(topic, again=True)
            return
        before, seen = self.rounds.seen.get(topic), SeenTopic(digest(body), sent.ms, sent.s, is_answered=True)
        self.rounds.answered(topic, seen, exists=body is not None)
        if body is None and before is not None and topic not in self._listed:
            self.rounds.forget(topic)
        if before is not None and before.digest == seen.digest:
            return
        try:
            found = None if body is None else decoded(body, decode_route_without_brokers)
        except UnusableError:
            self.unreadable.add(topic)
            return
        self.unreadable.discard(topic)
        events = self.observed.route(topic, found)
        # One that no list had, and nobody asked for before, was not in the last list.
        absent_ms = self._sent.get(NAMES, sent.ms)
        self._record_of_topic(events, absent_ms if before is None else before.sent_ms)
        if events:
            self._others.suspect((topic,))

    def _record_of_topic(self, events: list[Event], since_ms: int) -> None:
        """A broker that was not there had no topic."""
        for came_ms, some in groupby(events, lambda event: self._came_ms.get(_broker(event) or "", 0)):
            self._record(list(some), max(since_ms, came_ms))

    def read_anew(self) -> None:
        """Everything counts as not read."""
        self._digests.clear()
        self._came_ms.clear()
        self.rounds.read_anew()


def digest(body: bytes | None) -> bytes:
    """That of an answer's body."""
    return NO_ROUTE if body is None else blake2b(body, digest_size=DIGEST_BYTES).digest()


def decoded_groups(body: bytes) -> dict[str, BrokerData]:
    """The groups of an answer to request 106. UnusableError where it is none."""
    return decoded(body, decode_cluster_info)


def _with_asked(event: Event, asked: Mapping[str, str]) -> Event:
    return replace(event, asked=asked.get(event.addr)) if isinstance(event, BrokerDown) else event


def _broker(event: Event) -> str | None:
    """The broker name that an event is about."""
    return getattr(event, "broker_name", None)
