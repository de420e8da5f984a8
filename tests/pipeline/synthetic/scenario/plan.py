"""What happens in a fleet and when: lives of brokers, boots of name servers, lost connections, topic changes.

Two faults that could touch the same broker are at least SPACING_MS apart. So is a fault of a name server from every
other fault. Each fault therefore has consequences of its own.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.pipeline.synthetic.scenario.spec import DAY_S, SCAN_MS, TIMEOUT_MS
from tests.pipeline.synthetic.scenario.world import QueueTable, World

SPACING_MS = 300_000
WARM_UP_MS = 900_000
TRIES_MAX = 2_000
BURST_AFTER_S = 25 * 3600
BURST_FACTOR = 100
TYPO_MISSES = 25
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
# Faults in which a name server keeps a value that the others have changed.
LATE = ("lost_change", "lost_deletion")


class Life(NamedTuple):
    """A broker process from its start to its ``end``: farewell, crash, silent, or None while it goes on."""

    start_ms: int
    end_ms: int
    end: str | None


class Boot(NamedTuple):
    """A name server's process; ``end``: stop, kill, or None while it goes on."""

    start_ms: int
    end_ms: int
    end: str | None


class Change(NamedTuple):
    """A broker's topics from ``at_ms`` on. Name server ``lost_by`` applies it at ``late_ms`` only."""

    at_ms: int
    table: QueueTable
    lost_by: int | None = None
    late_ms: int = 0


class Deletion(NamedTuple):
    """A tool deletes a topic at all name servers; ``lost_by`` applies it at ``late_ms`` only."""

    at_ms: int
    topic: str
    lost_by: int | None = None
    late_ms: int = 0


class Misses(NamedTuple):
    """Lookups of a topic that does not exist: ``each`` per interval and name server from ``at_ms`` on, and BURST_FACTOR
    times as many in the interval of ``burst_ms`` (0: none)."""

    topic: str
    at_ms: int
    each: int
    burst_ms: int = 0


class Damage(NamedTuple):
    """From ``at_ms`` on: ``corrupt`` (one line), ``hole`` or ``drop`` (``lost`` heartbeats in a row)."""

    at_ms: int
    kind: str
    lost: int


class Hidden(NamedTuple):
    """The records of the first change of the broker's topics from ``at_ms`` on are missing."""

    at_ms: int
    broker: str


@dataclass(frozen=True)
class Fault:
    """What happened, and to which broker or name server. ``details`` depend on the kind."""

    kind: str
    at_ms: int
    until_ms: int
    brokers: tuple[str, ...] = ()
    ns: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Plan:
    """Lists by name server's index, unit's index, or broker's name."""

    boots: list[list[Boot]]
    lives: list[list[Life]]
    disconnections: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    resets: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    changes: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    deletions: list[Deletion] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    misses: list[Misses] = field(default_factory=list)
    grown: list[tuple[int, str]] = field(default_factory=list)  # since when, and which topic
    damage: dict[int, list[Damage]] = field(default_factory=lambda: defaultdict(list))
    hidden: dict[int, list[Hidden]] = field(default_factory=lambda: defaultdict(list))
    faults: list[Fault] = field(default_factory=list)

    def table(self, world: World, broker: str, at_ms: int) -> QueueTable:
        """A broker's own topics at a moment."""
        known = [change.table for change in self.changes[broker] if change.at_ms <= at_ms]
        return known[-1] if known else world.tables[broker]


def make_plan(world: World) -> Plan:
    """The plan of a spec: its seed decides when and whom. ValueError if the faults do not fit."""
    return _Planner(world).plan()


class _Planner:
    def __init__(self, world: World) -> None:
        self.world, self.spec = world, world.spec
        self.chance = random.Random(f"plan {world.spec.seed}")
        self.taken: list[tuple[frozenset[str] | None, int, int]] = []  # None: all brokers
        self.free = [unit.broker for unit in world.units if unit.bid == 0][world.spec.slaves :]
        used = world.spec.groups
        self.topics = self.chance.sample(world.topics()[used:], len(world.topics()) - used)
        self.made = Plan(self._boots(), self._lives())

    def plan(self) -> Plan:
        """The faults that need most room come first."""
        wanted = self.spec.faults
        seeders: list[tuple[int, Callable[[], None]]] = [
            (wanted.restarts, lambda: self._restart("restart", "stop")),
            (wanted.kills, lambda: self._restart("kill", "kill")),
            (wanted.lost_deletions, self._lose_deletion),
            (wanted.lost_changes, self._lose_change),
            (wanted.partitions, lambda: self._disconnect("partition", 5 * MINUTE_MS, 25 * MINUTE_MS)),
            (wanted.flaps, self._flap),
            (wanted.crashes, lambda: self._end_life("crash")),
            (wanted.silent_deaths, lambda: self._end_life("silent")),
            (wanted.farewells, lambda: self._end_life("farewell")),
            (wanted.blips, lambda: self._disconnect("blip", 5_000, TIMEOUT_MS - self.spec.heartbeat_ms - 2 * SCAN_MS)),
            (wanted.changes, self._change),
            (wanted.corrupt_lines, lambda: self._damage("corrupt")),
            (wanted.holes, lambda: self._damage("hole")),
            (wanted.drops, lambda: self._damage("drop")),
            (wanted.hidden_changes, self._hide_change),
        ]
        for count, seed in seeders:
            for _ in range(count):
                seed()
        self._grow()
        self._plan_lookups()
        self._sort()
        return self.made

    def _plan_lookups(self) -> None:
        """Times are those of whole intervals, a burst at least a day after the first miss."""
        interval, wanted = self.spec.lookup_s * 1000, self.spec.faults
        self.made.dead = sorted(self.topics.pop() for _ in range(wanted.dead_topics))
        count = self.spec.seconds // self.spec.lookup_s
        day = -(-BURST_AFTER_S // self.spec.lookup_s)
        for number in range(wanted.bursts):
            burst = self.spec.start_ms + self.chance.randrange(day + 1, count - 1) * interval
            self.made.misses.append(Misses(f"missing-{number}", self.spec.start_ms, 1, burst))
        for number in range(wanted.typos):
            first = self.spec.start_ms + self.chance.randrange(1, count - 1) * interval
            self.made.misses.append(Misses(f"typo-{number}", first, TYPO_MISSES))

    def _sort(self) -> None:
        self.made.faults.sort(key=lambda fault: fault.at_ms)
        self.made.deletions.sort()
        tables = (self.made.changes, self.made.damage, self.made.hidden, self.made.disconnections, self.made.resets)
        for values in (values for table in tables for values in table.values()):
            values.sort(key=lambda value: value if isinstance(value, int) else value[0])

    def _boots(self) -> list[list[Boot]]:
        """All start within 5 s, before any broker does."""
        start, end = self.spec.start_ms, self.spec.end_ms
        return [[Boot(start + self.chance.randint(0, 4_999), end, None)] for _ in self.world.name_servers]

    def _lives(self) -> list[list[Life]]:
        start, end, beat = self.spec.start_ms, self.spec.end_ms, self.spec.heartbeat_ms
        return [[Life(start + 6_000 + self.chance.randint(0, beat), end, None)] for _ in self.world.units]

    def _place(self, duration_ms: int, brokers: Iterable[str] | None, fit: Callable[[int], int] = int) -> int:
        """A start time at which these brokers (None: all) are free for the duration. It is then reserved. ``fit`` makes
        a time fit of any time."""
        chosen = None if brokers is None else frozenset(brokers)
        first, last = self.spec.start_ms + WARM_UP_MS, self.spec.end_ms - duration_ms - 2 * SPACING_MS
        for _ in range(TRIES_MAX if last > first else 0):
            at = fit(self.chance.randrange(first, last))
            if at < last and not any(self._touches(taken, chosen, at, at + duration_ms) for taken in self.taken):
                self.taken.append((chosen, at, at + duration_ms))
                return at
        raise ValueError(self._no_room())

    def _no_room(self) -> str:
        return f"{self.spec.seconds} s and {self.spec.brokers} brokers have no room for these faults"

    @staticmethod
    def _touches(
        taken: tuple[frozenset[str] | None, int, int], chosen: frozenset[str] | None, t1: int, t2: int
    ) -> bool:
        brokers, begin, end = taken
        shared = brokers is None or chosen is None or brokers & chosen
        return bool(shared) and t1 < end + SPACING_MS and begin < t2 + SPACING_MS

    def _any_ns(self) -> int:
        return self.chance.randrange(self.spec.name_servers)

    def _note(
        self, kind: str, at: int, until: int, brokers: Iterable[str] = (), ns: int | None = None, **more: Any
    ) -> None:
        self.made.faults.append(Fault(kind, at, until, tuple(brokers), ns, more))

    def _restart(self, kind: str, end: str) -> None:
        ns, away = self._any_ns(), self.chance.randint(20_000, 90_000)
        at = self._place(away + self.spec.heartbeat_ms + SPACING_MS, None)
        boots = self.made.boots[ns]
        place = next(i for i, boot in enumerate(boots) if boot.start_ms < at < boot.end_ms)
        boot = boots[place]
        boots[place : place + 1] = [Boot(boot.start_ms, at, end), Boot(at + away, boot.end_ms, boot.end)]
        self._note(kind, at, at + away + self.spec.heartbeat_ms + 1000, ns=ns, back_ms=at + away)

    def _disconnect(self, kind: str, shortest: int, longest: int) -> None:
        ns, broker, away = self._any_ns(), self.chance.choice(self.free), self.chance.randint(shortest, longest)
        at = self._place(away + self.spec.heartbeat_ms, [broker])
        self.made.disconnections[ns, self.world.masters[broker]].append((at, at + away))
        self._note(kind, at, at + away + self.spec.heartbeat_ms + 1000, [broker], ns)

    def _flap(self) -> None:
        ns, broker, times = self._any_ns(), self.chance.choice(self.free), self.chance.randint(4, 6)
        apart = 2 * self.spec.heartbeat_ms + 20_000
        at = self._place(times * apart, [broker])
        starts = [at + n * apart + self.chance.randint(0, 15_000) for n in range(times)]
        self.made.resets[ns, self.world.masters[broker]] += starts
        self._note("flap", at, at + times * apart, [broker], ns, times=times)

    def _end_life(self, end: str) -> None:
        broker, away = self.chance.choice(self.free), self.chance.randint(4 * MINUTE_MS, 15 * MINUTE_MS)
        at = self._place(away + self.spec.heartbeat_ms, [broker])
        lives = self.made.lives[self.world.masters[broker]]
        place = next(i for i, life in enumerate(lives) if life.start_ms < at < life.end_ms)
        life = lives[place]
        lives[place : place + 1] = [Life(life.start_ms, at, end), Life(at + away, life.end_ms, life.end)]
        self._note(end, at, at + away + 1000, [broker])

    def _change(self) -> None:
        topic, at, broker = self._change_topic(MINUTE_MS)
        self._put_change(broker, topic, at)
        self._note("change", at, at + MINUTE_MS, [broker], topic=topic)

    def _lose_change(self) -> None:
        away, ns = self.chance.randint(10 * MINUTE_MS, 40 * MINUTE_MS), self._any_ns()
        topic, at, broker = self._change_topic(away)
        self._put_change(broker, topic, at, ns, at + away)
        self._note("lost_change", at, at + away + MINUTE_MS + 1000, [broker], ns, topic=topic)

    def _change_topic(self, duration: int, fit: Callable[[int], int] = int) -> tuple[str, int, str]:
        """An untouched topic, a time, and one of its brokers that is free then."""
        topic = next(t for t in self.topics if any(broker in self.free for broker in self.world.brokers_of(t)))
        self.topics.remove(topic)
        broker = self.chance.choice([broker for broker in self.world.brokers_of(topic) if broker in self.free])
        return topic, self._place(duration + MINUTE_MS, [broker], fit), broker

    def _hide_change(self) -> None:
        """Shortly before a full hour, when the next snapshot comes. Nothing else happens to the broker until then."""
        ns, away = self._any_ns(), self.chance.randint(10 * MINUTE_MS, 30 * MINUTE_MS)
        for _ in range(len(self.free)):
            with suppress(ValueError):  # that broker has no room
                topic, at, broker = self._change_topic(away, lambda at: at - at % HOUR_MS + HOUR_MS - away)
                self._put_change(broker, topic, at)
                self.made.hidden[ns].append(Hidden(at, broker))
                self._note("hidden_change", at, at + away, [broker], ns, topic=topic)
                return
        raise ValueError(self._no_room())

    def _put_change(self, broker: str, topic: str, at: int, lost_by: int | None = None, late: int = 0) -> None:
        """The topic gets twice the queues, also in changes planned for later."""
        r, w, p = self.world.tables[broker][topic]
        grown = {topic: (2 * r, 2 * w, p)}
        before = self.made.table(self.world, broker, at)
        kept = [c if c.at_ms < at else c._replace(table=c.table | grown) for c in self.made.changes[broker]]
        self.made.changes[broker] = sorted([*kept, Change(at, before | grown, lost_by, late)], key=lambda c: c.at_ms)

    def _grow(self) -> None:
        """One broker gets new topics once on each day but the first and the last begun one."""
        broker, number = self.free[-1], self.spec.topics
        days = range(1, self.spec.seconds // DAY_S) if self.spec.faults.grown else ()
        for day in days:
            at = self._place_between(self.spec.start_ms + day * DAY_S * 1000, DAY_S * 1000, broker)
            new = [f"topic-{number + n:05d}" for n in range(self.spec.faults.grown)]
            number += len(new)
            grown = dict.fromkeys(new, (self.spec.queues, self.spec.queues, 6))
            before = self.made.table(self.world, broker, at)
            later = [c if c.at_ms < at else c._replace(table=c.table | grown) for c in self.made.changes[broker]]
            self.made.changes[broker] = sorted([*later, Change(at, before | grown)], key=lambda c: c.at_ms)
            self.made.grown += [(at, topic) for topic in new]

    def _place_between(self, begin: int, duration: int, broker: str) -> int:
        """A time at which nothing else befalls the broker; an hour is left free at both ends."""
        hour = 60 * MINUTE_MS
        for _ in range(TRIES_MAX):
            at = self.chance.randrange(begin + hour, begin + duration - hour)
            if not any(self._touches(taken, frozenset([broker]), at, at) for taken in self.taken):
                return at
        raise ValueError(f"{broker} has no room for new topics")

    def _lose_deletion(self) -> None:
        """A deletion is known to every broker that had the topic, so it is not registered again."""
        topic, away, ns = self.topics.pop(), self.chance.randint(10 * MINUTE_MS, 40 * MINUTE_MS), self._any_ns()
        brokers = self.world.brokers_of(topic)
        at = self._place(away, brokers)
        self.made.deletions.append(Deletion(at, topic, ns, at + away))
        for broker in brokers:
            left = {name: value for name, value in self.made.table(self.world, broker, at).items() if name != topic}
            later = [
                c._replace(table={name: value for name, value in c.table.items() if name != topic})
                if c.at_ms >= at else c
                for c in self.made.changes[broker]
            ]  # fmt: skip
            self.made.changes[broker] = sorted([*later, Change(at, left)], key=lambda c: c.at_ms)
        self._note("lost_deletion", at, at + away + 1000, brokers, ns, topic=topic)

    def _damage(self, kind: str) -> None:
        ns, lost = self._any_ns(), 1 if kind == "corrupt" else self.chance.randint(2, 20)
        late = [fault for fault in self.made.faults if fault.ns == ns and fault.kind in LATE]
        at = self._place(0, [f"journal of {ns}"])
        while any(fault.at_ms - HOUR_MS <= at <= fault.until_ms for fault in late):
            at = self._place(0, [f"journal of {ns}"])  # else the fault would rest on values of before the loss
        self.made.damage[ns].append(Damage(at, kind, lost))
        self._note(kind, at, at + MINUTE_MS, ns=ns, lost=lost)
