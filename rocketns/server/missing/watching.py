"""Watches for topics that are asked for and have no route: why each has none, the nearest names, and the log lines.

An answer costs one more lookup in a small table. The nearest names are looked for afterwards, one topic at a time, for
STEP_NS of each tick: 1 % of control's time, however many names are made up. The next one is a topic whose line is due.
There is one line an hour for a topic, and so many a minute for all of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from rocketns.fleet.nearest import find_nearest
from rocketns.processor.context import Now
from rocketns.protocol.codes import SYNC_BROKER_MEMBER_GROUP_PREFIX
from rocketns.protocol.names import CREATION_TOPIC, SELF_TEST_TOPIC, is_valid
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.missing.asked import AskedTopic, AskedTopics, Counted, Owner, TopicAsker

# Never missing: a client asks for the first one after its own topic, which is noted. Every broker has the second one,
# so tools probe with it, among them `rocketns doctor`.
PROBED = frozenset((CREATION_TOPIC, SELF_TEST_TOPIC))
# What brokers make for a consumer group, or for each other: clients ask for them before they exist.
GROUP_PREFIXES = ("%RETRY%", "%DLQ%", SYNC_BROKER_MEMBER_GROUP_PREFIX)
SYSTEM_PREFIXES = ("rmq_sys_", "RMQ_SYS_", "%SYS%", "%LMQ%")
SYSTEM_TOPICS = frozenset((
    *PROBED, "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "TRANS_CHECK_MAX_TIME_TOPIC", "OFFSET_MOVED_EVENT",
))  # fmt: skip


class MissingReason(StrEnum):
    """Why a topic has no route."""

    NO_BROKERS = "noBrokers"
    NOT_A_NAME = "notAName"
    GROUP = "group"
    BROKERS_GONE = "brokersGone"
    SYSTEM = "system"
    CREATED = "created"
    ABSENT = "absent"


# Nothing to say in the log: others make these topics, and clients ask for them again and again until then.
QUIET = frozenset((MissingReason.GROUP,))


def why_missing(tables: RouteTables, topic: str, *, creates: bool) -> MissingReason:
    """Control only. The first reason of the list above that holds. ``creates``: some broker creates topics."""
    if not tables.broker_addr_table:
        return MissingReason.NO_BROKERS
    if topic.startswith(GROUP_PREFIXES):
        return MissingReason.GROUP
    if not is_valid(topic):
        return MissingReason.NOT_A_NAME
    if tables.topic_queue_table.get(topic):
        return MissingReason.BROKERS_GONE
    if topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIXES):
        return MissingReason.SYSTEM
    return MissingReason.CREATED if creates else MissingReason.ABSENT


def creating_groups(tables: RouteTables) -> list[str]:
    """Control only. The broker groups that create a topic at its first message."""
    return [name for name in tables.topic_queue_table.get(CREATION_TOPIC, ()) if name in tables.broker_addr_table]


def has_route(tables: RouteTables, topic: str) -> bool:
    """Control only. As `view.pick_up_route`, without making the route."""
    return any(name in tables.broker_addr_table for name in tables.topic_queue_table.get(topic, ()))


log = logging.getLogger("rocketns.missing")

AGAIN_AFTER_MS = 3_600_000
LINES_MAX = 10  # at once; then one more every LINE_EVERY_MS
LINE_EVERY_MS = 6_000
MORE_AFTER_MS = 600_000  # between two lines that say how many topics wait for theirs
BROKERS_NAMED_MAX = 5
WHERE = "/api/v1/missing at the management port lists them"


class Lines:
    """Control only. Which topic has the next line, and its text."""

    def __init__(self, tables: RouteTables) -> None:
        self._tables = tables
        self._left = LINES_MAX
        self._gained_ms: int | None = None
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
                 one.topic, peers, _why(why, one.topic, groups), nearest)  # fmt: skip

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
        if self._gained_ms is None or self._left == LINES_MAX:
            self._gained_ms = now.ms
        gained = (now.ms - self._gained_ms) // LINE_EVERY_MS
        self._left = min(LINES_MAX, self._left + gained)
        self._gained_ms += gained * LINE_EVERY_MS


def _why(why: MissingReason, topic: str, groups: list[str]) -> str:
    match why:
        case MissingReason.NO_BROKERS:
            return "no broker is registered here, so no topic has a route. No more lines like this within an hour"
        case MissingReason.NOT_A_NAME:
            return "brokers take no topic of this name: it is longer than 127 characters, or has others than % | - _, "\
                "letters and digits"  # fmt: skip
        case MissingReason.BROKERS_GONE:
            return "none of the brokers that have its queues is registered"
        case MissingReason.CREATED:
            return f"no broker has it. The first message creates it at {_named(groups)}, where automatic creation is on"
        case MissingReason.GROUP:
            return "no broker has it. Brokers make it for a consumer group"
        case MissingReason.SYSTEM:
            return "no broker has it. It is a topic of RocketMQ itself, which brokers make by their own properties"
        case MissingReason.ABSENT:
            return "no broker has it, and automatic creation is off at all of them (none has TBW102). To create it: "\
                f"mqadmin updateTopic -n NAME_SERVERS -c CLUSTER -t '{topic}'"  # fmt: skip


def _named(groups: list[str]) -> str:
    more = len(groups) - BROKERS_NAMED_MAX
    shown = ", ".join(groups[:BROKERS_NAMED_MAX])
    return f"{shown} and {more} more brokers" if more > 0 else shown


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
        self._searched: AskedTopic | None = None
        self._search: Iterator[None] = iter(())

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
        self.asked.take_new(now)
        self.asked.sweep(lambda topic: has_route(self._tables, topic), now)
        while self._step(now) and self._clock.spent_ns() < ends_ns:
            pass

    def _step(self, now: Now) -> bool:
        """One step of the search. False if nothing is left to look for."""
        one = self._searched
        if one is None or not self.asked.is_held(one):
            one = self._lines.next_of(self.asked.all_missing(), now) or next(
                (one for one in self.asked.all_missing() if one.nearest is None), None
            )
            self._searched = one
            if one is None:
                return False
            self._search = find_nearest(one.topic, self._tables.topic_queue_table)
        try:
            next(self._search)
        except StopIteration as stop:
            self._searched = None
            one.nearest = stop.value
            if not has_route(self._tables, one.topic) and self._lines.next_of((one,), now) is one:
                self._lines.say(one, now)
        return True
