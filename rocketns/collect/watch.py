"""What the answers of one name server change, and since when: a change came after the request before was sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from rocketns.client.name_server import UnusableError, decoded
from rocketns.collect.asking import CONFIGURATION, GROUPS, NAMES, Ask
from rocketns.collect.observing import Observed
from rocketns.collect.schedule import TOPICS_MAX, Rounds, SeenTopic
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
# Beyond it those of the broker that went first are forgotten.
DEPARTED_TOPICS_MAX = 1_000_000


class Moment(NamedTuple):
    """When a request was sent, or something happened: epoch ms, and loop time."""

    ms: int
    s: float


class Watch:
    """``record`` takes the events of an answer, and since when they may have happened. ``elsewhere`` gives the topics
    that other name servers show of a broker; ``changed`` gets those that changed here.

    ``unreadable`` are the topics whose route is none.
    """

    def __init__(
        self, observed: Observed, rounds: Rounds, elsewhere: Callable[[str], Iterable[str]],
        changed: Callable[[Collection[str]], None], record: Callable[[list[Event], int], None],
    ) -> None:  # fmt: skip
        self.observed = observed
        self.rounds = rounds
        self.unreadable: set[str] = set()
        self._elsewhere, self._changed, self._record = elsewhere, changed, record
        self._came_ms: dict[str, int] = {}  # broker groups that came, and when they were not there
        self._sent: dict[Ask, int] = {}  # when the last answer to each poll was asked for
        self._digests: dict[Ask, bytes] = {}
        self._departed: dict[str | None, Sequence[str]] = {}  # topics of groups that went
        self._early: set[str] = set()  # topics on brokers that no list of groups has
        self._changed_s = float("-inf")

    def restore(self, read_ms: int, looked_ms: int, now_s: float) -> None:
        """The tables are those of ``read_ms``. ``looked_ms``: each topic was read after it."""
        self._sent = {GROUPS: read_ms, NAMES: read_ms}
        self.rounds.restore(self.observed.tables.topic_queue_table, looked_ms, now_s)

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
        self.rounds.suspect(self._early, distrust=True)
        self._early.clear()
        for event in events:
            if isinstance(event, TopicsDeleted):
                self.rounds.suspect(event.topics, distrust=True)
                self._departed[event.broker_name] = event.topics
        while sum(map(len, self._departed.values())) > DEPARTED_TOPICS_MAX:
            del self._departed[next(iter(self._departed))]
        for name in {name for event in events if (name := _broker(event)) is not None}:
            self._note_group(name, since_ms, was_there=name in before)
        self._record([_with_asked(event, asked) for event in events], since_ms)

    def _note_group(self, name: str, since_ms: int, *, was_there: bool) -> None:
        """Ask for the topics of a group that changed; of one that came, for those that it had or has elsewhere."""
        topics = self.observed.tables.broker_topics.get(name)
        self.rounds.suspect(() if topics is None else topics.names, distrust=True)
        if not was_there:
            self.rounds.suspect(self._departed.pop(name, ()), distrust=True)
            self.rounds.suspect(self._elsewhere(name), distrust=True)
            self._came_ms[name] = since_ms
        elif name not in self.observed.tables.broker_addr_table:
            self._came_ms.pop(name, None)

    def poll(self, ask: Ask, body: bytes | None, sent: Moment, now_s: float) -> None:
        """Another answer than the one before to what is asked each time."""
        if ask == NAMES:
            self._names(body or b"", sent, now_s)
        elif ask == CONFIGURATION:
            events = self.observed.configuration((body or b"").decode("utf-8", "replace"))
            self._record(events, self._note(ask, body, sent))
        else:  # None: there is no such namespace
            items = {} if body is None else decoded(body, decode_kv_table)
            self._record(self.observed.kv_items(ask.name, items), self._note(ask, body, sent))

    def _names(self, body: bytes, sent: Moment, now_s: float) -> None:
        names = set(decoded(body, decode_topic_list))
        if len(names) > TOPICS_MAX:
            raise UnusableError(f"it has {len(names)} topics, and at most {TOPICS_MAX} are watched")
        since_ms = self._note(NAMES, body, sent)
        gone = [topic for topic in self.rounds.seen if topic not in names]
        events = self.observed.topic_names(names)
        new = self.rounds.replace(names, since_ms, now_s)
        self.unreadable &= names
        self._early &= names
        if events:
            self._changed_s = now_s
            self._record(events, since_ms)
        self._changed([*gone, *new])

    def no_names(self, now_s: float) -> None:
        """There is no list of topics: none is known."""
        self.rounds.replace((), 0, now_s)
        self._record(self.observed.topic_names(()), self._sent.get(NAMES, 0))

    def route(self, topic: str, body: bytes | None, sent: Moment) -> None:
        """The route of a topic; None: there is none. An answer that may be older than a change is asked for again."""
        before = self.rounds.seen.get(topic)
        if before is None or sent.s < self._changed_s:
            self.rounds.failed(topic, again=True)
            return
        digest_now = digest(body)
        if before.digest != digest_now:
            self._changed_route(topic, body, before.sent_ms)
        # What an answer says of brokers that are in no list yet is recorded later, as changed since the answer before.
        sent_ms = before.sent_ms if topic in self._early else sent.ms
        self.rounds.answered(topic, SeenTopic(digest_now, sent_ms, sent.s))

    def _changed_route(self, topic: str, body: bytes | None, before_ms: int) -> None:
        try:
            found = None if body is None else decoded(body, decode_route_without_brokers)
        except UnusableError:
            self.unreadable.add(topic)
            return
        self.unreadable.discard(topic)
        if found is not None and any(
            name not in self.observed.tables.broker_addr_table for name, _ in found.queue_datas
        ):
            self._early.add(topic)
        events = self.observed.route(topic, found)
        # A broker that was not there had no topic.
        for came_ms, some in groupby(events, lambda event: self._came_ms.get(_broker(event) or "", 0)):
            self._record(list(some), max(before_ms, came_ms))
        if events:
            self._changed((topic,))

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
