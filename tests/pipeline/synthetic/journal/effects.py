"""What one name server writes down besides heartbeats, in order: registrations, downs, and what they do to its topics.

A record is given as what follows its ``ts``; what it does to the state goes with it, for the snapshots of the hour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from rocketns.journal.record import TOPICS_IN_RECORD_MAX
from tests.pipeline.synthetic.journal.sight import Run, Session, sessions_of
from tests.pipeline.synthetic.scenario.plan import Change, Plan
from tests.pipeline.synthetic.scenario.spec import TIMEOUT_MS
from tests.pipeline.synthetic.scenario.world import CLUSTER, QueueTable, World


class Effect(NamedTuple):
    """One or more records of the same moment. After it the unit is a member or not (``joined``; None: as before), and
    the broker's topics at this name server are ``table`` (None: as before)."""

    at_ms: int
    records: tuple[bytes, ...]
    broker: str
    unit: int = -1
    joined: bool | None = None
    table: QueueTable | None = None


class Sight(NamedTuple):
    """All that one name server sees: entries by unit, and effects in order of time."""

    sessions: list[list[Session]]
    effects: list[Effect]


def sight_of(world: World, plan: Plan, ns: int) -> Sight:
    """What a name server sees of the whole plan."""
    sessions = [sessions_of(world, plan, ns, unit) for unit in range(len(world.units))]
    members: dict[str, list[Session]] = {}
    for unit, of_unit in zip(world.units, sessions, strict=True):
        members.setdefault(unit.broker, []).extend(of_unit)
    effects = [effect for broker in members for effect in _Broker(world, plan, ns, broker, members[broker]).effects()]
    return Sight(sessions, sorted(effects, key=attrgetter("at_ms")))


def record(event: str, **columns: Any) -> bytes:
    """From ``"ev"`` to the end of the line; a column that is None is left out."""
    given = {"ev": event} | {name: value for name, value in columns.items() if value is not None}
    return orjson.dumps(given)[1:] + b"\n"


def member(world: World, unit: int) -> dict[str, Any]:
    """The columns that name a member."""
    named = world.units[unit]
    return {"cluster": CLUSTER, "broker": named.broker, "addr": named.addr, "bid": named.bid}


def version(plan: Plan, world: World, broker: str, at_ms: int) -> dict[str, int]:
    """A broker's data version: it counts its own changes."""
    seen = [change.at_ms for change in plan.changes.get(broker, ()) if change.at_ms <= at_ms]
    return {"dvt": seen[-1] if seen else world.spec.start_ms, "dvc": 1 + len(seen), "dvs": 0}


def attributes(world: World, broker_of: dict[str, Any]) -> dict[str, Any]:
    """What a registration says besides its name and version."""
    host = broker_of["addr"].split(":")[0]
    zone = world.zones[broker_of["broker"]]
    return {"timeout_ms": TIMEOUT_MS, "ha": f"{host}:10912", "zone": zone, "acting": False}


def topic_records(event: str, broker: str, cause: str | None, table: QueueTable, **head: Any) -> Iterator[bytes]:
    """Records of at most TOPICS_IN_RECORD_MAX topics; a tdel has their names only."""
    entries = [{"t": name, "r": r, "w": w, "p": p, "s": 0} for name, (r, w, p) in table.items()]
    if event == "tdel":
        entries = [{"t": name} for name in table]
    for start in range(0, len(entries), TOPICS_IN_RECORD_MAX):
        some = entries[start : start + TOPICS_IN_RECORD_MAX]
        yield record(event, **head, broker=broker, cause=cause, topics=some)


class _Broker:
    """The effects of one broker's members at one name server."""

    def __init__(self, world: World, plan: Plan, ns: int, broker: str, sessions: list[Session]) -> None:
        self.world, self.plan, self.ns, self.broker, self.sessions = world, plan, ns, broker, sessions
        self.members: set[int] = set()
        self.table: QueueTable = {}

    def effects(self) -> Iterator[Effect]:
        """The order of the same moment is that of the list: a boot, a registration, a change, a deletion, a down."""
        steps: list[tuple[int, int, Callable[[], Effect | None]]] = []
        steps += [(boot.start_ms, 0, self._boot) for boot in self.plan.boots[self.ns]]
        for session in self.sessions:
            steps.append((session.reg_ms, 1, partial(self._join, session)))
            if session.down_ms is not None:
                steps.append((session.down_ms, 4, partial(self._leave, session, session.down_ms)))
        for change in self.plan.changes.get(self.broker, ()):
            steps += [(at, 2, partial(self._change, at)) for at in self._heard(change)]
        for deletion in self.plan.deletions:
            at = self.ns + (deletion.late_ms if deletion.lost_by == self.ns else deletion.at_ms)
            steps.append((at, 3, partial(self._delete, deletion.topic, at)))
        made = (step() for _, _, step in sorted(steps, key=lambda step: step[:2]))
        return (effect for effect in made if effect is not None)

    def _heard(self, change: Change) -> Iterator[int]:
        """When the heartbeat with the change comes; nothing where the broker is not there: its registration has it."""
        changed_ms = change.late_ms if change.lost_by == self.ns else change.at_ms
        unit = self.world.masters[self.broker]
        for session in self.sessions:
            if session.unit == unit and session.reg_ms < changed_ms < session.end_ms:
                life_ms = next(run.life_ms for run in reversed(session.runs) if self._begin(unit, run) <= changed_ms)
                yield self.world.arrival(
                    self.ns, unit, life_ms, self.world.first_beat(self.ns, unit, life_ms, changed_ms)
                )

    def _begin(self, unit: int, run: Run) -> int:
        return self.world.arrival(self.ns, unit, run.life_ms, run.first)

    def _boot(self) -> None:
        self.members.clear()
        self.table = {}

    def _join(self, session: Session) -> Effect:
        named = member(self.world, session.unit)
        dv = version(self.plan, self.world, self.broker, session.reg_ms)
        records = [record("reg", **named, **dv, **attributes(self.world, named))]
        self.members.add(session.unit)
        if session.unit == self.world.masters[self.broker]:
            records += self._put(self.plan.table(self.world, self.broker, session.reg_ms), "register")
        return Effect(session.reg_ms, tuple(records), self.broker, session.unit, True, dict(self.table))

    def _leave(self, session: Session, at: int) -> Effect:
        named = member(self.world, session.unit)
        records = [record("down", **named, gap=session.gap_ms, cause=session.cause)]
        self.members.discard(session.unit)
        if not self.members:
            records += topic_records("tdel", self.broker, session.cause, self.table)
            self.table = {}
        return Effect(at, tuple(records), self.broker, session.unit, False, dict(self.table))

    def _change(self, at: int) -> Effect | None:
        records = self._put(self.plan.table(self.world, self.broker, at), "heartbeat")
        return Effect(at, tuple(records), self.broker, table=dict(self.table)) if records else None

    def _put(self, wanted: QueueTable, cause: str) -> list[bytes]:
        """What differs is put; what the broker no longer has stays, as by default in RocketMQ."""
        changed = {name: value for name, value in wanted.items() if self.table.get(name) != value}
        self.table |= changed
        return list(topic_records("tput", self.broker, cause, changed))

    def _delete(self, topic: str, at: int) -> Effect | None:
        value = self.table.pop(topic, None)
        if value is None:
            return None
        records = topic_records("tdel", self.broker, "admin", {topic: value})
        return Effect(at, tuple(records), self.broker, table=dict(self.table))
