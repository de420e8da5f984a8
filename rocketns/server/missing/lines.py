"""The log lines about topics without a route: once an hour for a topic, and so many a minute for all of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from rocketns.processor.context import Now
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.missing.asked import Asked, Owner
from rocketns.server.missing.reasons import QUIET, MissingReason, creating_groups, why_missing

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
        self._said_more_ms: int | None = None
        self._said_no_brokers_ms: int | None = None
        self._said_of: Counter[Owner] = Counter()
        self._counted_ms = 0

    def next_of(self, topics: Iterable[Asked], now: Now) -> Asked | None:
        """The topic whose line is due: of the host with the fewest lines within the hour, the first one."""
        self._gain(now)
        if not self._left and not self._may_say_more(now):
            return None
        due = [one for one in topics if self._is_due(one, now)]
        if due and not self._left:
            self._say_more(len(due), now)
        if not due or not self._left:
            return None
        return min(due, key=lambda one: (self._said_of[one.owner], one.since_epoch_ms))

    def say(self, one: Asked, now: Now) -> None:
        """Write its line."""
        groups = creating_groups(self._tables)
        why = why_missing(self._tables, one.topic, creates=bool(groups))
        self._left -= 1
        self._said_of[one.owner] += 1
        if why is MissingReason.NO_BROKERS:
            self._said_no_brokers_ms = now.ms  # the topic gets its own line when there are brokers
        else:
            one.was_said(now)
        peers = ", ".join(one.latest_peers()) or "a peer that has left"
        log.info("no route for the topic %s, which %s asked for: %s%s",
                 one.topic, peers, _why(why, one.topic, groups), _nearest(one))  # fmt: skip

    def _is_due(self, one: Asked, now: Now) -> bool:
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

    def _may_say_more(self, now: Now) -> bool:
        return self._said_more_ms is None or now.ms - self._said_more_ms >= MORE_AFTER_MS

    def _say_more(self, count: int, now: Now) -> None:
        self._said_more_ms = now.ms
        log.info("%d more topics without a route were asked for, and each gets its line later: at most %d lines a "
                 "minute are written. %s", count, 60_000 // LINE_EVERY_MS, WHERE)  # fmt: skip


def _nearest(one: Asked) -> str:
    return f". The nearest names here: {', '.join(one.nearest)}" if one.nearest else ""


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
