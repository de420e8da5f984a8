"""Heartbeats in bulk: most of a journal is nothing else, so they are packed in integers and made from templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.pipeline.synthetic.journal.effects import member, record, version
from tests.pipeline.synthetic.journal.sight import Run, Session
from tests.pipeline.synthetic.scenario.plan import Boot, Plan
from tests.pipeline.synthetic.scenario.world import World

# ms since the chunk's start | template | gap in ms
GAP_BITS = 18
TEMPLATE_BITS = 20
GAP_MASK, TEMPLATE_MASK = (1 << GAP_BITS) - 1, (1 << TEMPLATE_BITS) - 1
TIME_SHIFT = GAP_BITS + TEMPLATE_BITS
NO_GAP = 4_242_424_242  # takes the place of the gap while a template is made


class BeatRun(NamedTuple):
    """Heartbeats ``first`` to ``last`` that are written with one template; ``before_ms`` is the sign of life before."""

    begin_ms: int
    end_ms: int
    unit: int
    template: int
    run: Run
    before_ms: int


class Beats:
    """One boot's heartbeats. ``templates[i] % (seq, ms, gap)`` is a line."""

    def __init__(self, world: World, plan: Plan, ns: int, boot: Boot, sessions: list[list[Session]]) -> None:
        self.world, self.plan, self.ns = world, plan, ns
        self.boot_id = boot.start_ms + world.offsets_ms[ns]
        self.templates: list[bytes] = []
        self._known: dict[tuple[int, int], int] = {}
        here = (session for of_unit in sessions for session in of_unit if session.boot == boot)
        self.runs = sorted(run for session in here for run in self._runs(session))

    def _runs(self, session: Session) -> Iterator[BeatRun]:
        """The session's first heartbeat is its registration and none of these."""
        before, skip = session.reg_ms, 1
        for run in session.runs:
            for part, counter in self._parts(session.unit, run._replace(first=run.first + skip)):
                begin = self._arrival(session.unit, part, part.first)
                end = self._arrival(session.unit, part, part.last)
                yield BeatRun(begin, end, session.unit, self._template(session.unit, counter, begin), part, before)
                before = end
            skip = 0

    def _parts(self, unit: int, run: Run) -> Iterator[tuple[Run, int]]:
        """The run, cut where the broker's data version changes, and the number of changes before each part."""
        changes = self.plan.changes.get(self.world.units[unit].broker, ())
        first = run.first
        for count, change in enumerate(changes):
            cut = min(self.world.first_beat(self.ns, unit, run.life_ms, change.at_ms), run.last + 1)
            if first < cut:
                yield run._replace(first=first, last=cut - 1), count
                first = cut
        if first <= run.last:
            yield run._replace(first=first), len(changes)

    def _arrival(self, unit: int, run: Run, k: int) -> int:
        return self.world.arrival(self.ns, unit, run.life_ms, k)

    def _template(self, unit: int, counter: int, at_ms: int) -> int:
        """The template's number. Names have no percent sign, for they are brokers'."""
        if (unit, counter) not in self._known:
            self._known[unit, counter] = len(self.templates)
            named = member(self.world, unit)
            line = record("hb", **named, gap=NO_GAP, **version(self.plan, self.world, named["broker"], at_ms))
            head = b'{"boot":%d,"seq":%%d,"ts":%%d000,' % self.boot_id
            self.templates.append(head + line.replace(b"%d" % NO_GAP, b"%d"))
        return self._known[unit, counter]

    def packed(self, begin_ms: int, end_ms: int) -> list[int]:
        """The heartbeats of [begin_ms, end_ms), in no order; their integers sort by time."""
        found: list[int] = []
        for run in self.runs:
            if run.begin_ms >= end_ms:
                break
            if run.end_ms >= begin_ms:
                found += self._packed(run, begin_ms, end_ms)
        return found

    def _packed(self, of: BeatRun, begin_ms: int, end_ms: int) -> list[int]:
        unit, run, world = of.unit, of.run, self.world
        first = max(run.first, world.first_beat(self.ns, unit, run.life_ms, begin_ms))
        last = min(run.last, world.first_beat(self.ns, unit, run.life_ms, end_ms) - 1)
        if last < first:
            return []
        before = of.before_ms if first == run.first else self._arrival(unit, run, first - 1)
        start, beat, jitter, delay = run.life_ms - begin_ms, world.spec.heartbeat_ms, world.jitter, world.delay
        j, d, template = unit * 7, unit * 5 + self.ns * 3, of.template << GAP_BITS
        times = [
            start + k * beat + jitter[(k * 31 + j) & 1023] + delay[(k * 17 + d) & 1023] for k in range(first, last + 1)
        ]
        befores = [before - begin_ms, *times[:-1]]
        return [(t << TIME_SHIFT) | template | (t - b) for t, b in zip(times, befores, strict=True)]
