"""What one name server sees of each broker: when it registers, which heartbeats arrive, when and why it goes.

RouteInfoManager's rules: an entry that is overdue goes at the next scan; a closed connection and an unregistration take
it at once; the next heartbeat after that is a registration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.pipeline.synthetic.scenario.plan import Boot, Life, Plan
from tests.pipeline.synthetic.scenario.spec import SCAN_MS, TIMEOUT_MS
from tests.pipeline.synthetic.scenario.world import World

CAUSES = {"farewell": "unregister", "crash": "channel_close"}


class Run(NamedTuple):
    """Heartbeats ``first`` to ``last`` of the broker's life that began at ``life_ms``."""

    life_ms: int
    first: int
    last: int


@dataclass
class Session:
    """A broker's entry from its registration, the first heartbeat of the first run, to ``down_ms``: None where the name
    server ended before. ``gap_ms``: between the last heartbeat and the down."""

    unit: int
    boot: Boot
    reg_ms: int
    last_ms: int
    runs: list[Run] = field(default_factory=list)
    down_ms: int | None = None
    cause: str = ""
    gap_ms: int = 0

    def close(self, at_ms: int, cause: str) -> None:
        self.down_ms, self.cause, self.gap_ms = at_ms, cause, at_ms - self.last_ms

    @property
    def expires_ms(self) -> int:
        """The first scan after the timeout."""
        since = self.last_ms + TIMEOUT_MS - self.boot.start_ms
        return self.boot.start_ms + (since // SCAN_MS + 1) * SCAN_MS

    @property
    def end_ms(self) -> int:
        return self.boot.end_ms if self.down_ms is None else self.down_ms


class _Point(NamedTuple):
    """Something that a name server notices: a run of heartbeats, or that the connection went (``cause``)."""

    at_ms: int
    run: Run | None
    cause: str


def sessions_of(world: World, plan: Plan, ns: int, unit: int) -> list[Session]:
    """All entries of a unit at a name server, in order."""
    return [session for boot in plan.boots[ns] for session in _sessions_in(world, plan, ns, unit, boot)]


def _sessions_in(world: World, plan: Plan, ns: int, unit: int, boot: Boot) -> Iterator[Session]:
    session: Session | None = None
    for point in sorted(_points(world, plan, ns, unit, boot), key=lambda point: point.at_ms):
        if session is not None and session.expires_ms <= point.at_ms:
            session.close(session.expires_ms, "expired")
            yield session
            session = None
        if point.run is not None:
            session = session or Session(unit, boot, point.at_ms, point.at_ms)
            session.runs.append(point.run)
            session.last_ms = world.arrival(ns, unit, point.run.life_ms, point.run.last)
        elif session is not None:
            session.close(point.at_ms, point.cause)
            yield session
            session = None
    if session is not None:
        if session.expires_ms < boot.end_ms:
            session.close(session.expires_ms, "expired")
        yield session


def _points(world: World, plan: Plan, ns: int, unit: int, boot: Boot) -> Iterator[_Point]:
    disconnections, resets = plan.disconnections.get((ns, unit), []), plan.resets.get((ns, unit), [])
    for life in plan.lives[unit]:
        yield from _runs(world, ns, unit, life, boot, disconnections, resets)
        heard = life.end in CAUSES and not any(a <= life.end_ms < b for a, b in disconnections)
        if heard and boot.start_ms <= life.end_ms < boot.end_ms:
            yield _Point(life.end_ms + 1 + 2 * ns, None, CAUSES[life.end or ""])
    yield from (_Point(at, None, "channel_close") for at in resets if boot.start_ms <= at < boot.end_ms)


def _runs(
    world: World, ns: int, unit: int, life: Life, boot: Boot, disconnections: list[tuple[int, int]], resets: list[int]
) -> Iterator[_Point]:
    """The heartbeats that arrive, in uninterrupted runs."""
    begin, end = max(life.start_ms, boot.start_ms), min(life.end_ms, boot.end_ms)
    edges = sorted(
        [(at, at) for at in resets if begin < at < end] + [c for c in disconnections if c[0] < end and begin < c[1]]
    )
    starts, ends = [begin, *[edge[1] for edge in edges]], [*[edge[0] for edge in edges], end]
    for start, stop in zip(starts, ends, strict=True):
        if stop <= start:
            continue
        first = world.first_beat(ns, unit, life.start_ms, start)
        last = world.first_beat(ns, unit, life.start_ms, stop) - 1
        if first <= last:
            run = Run(life.start_ms, first, last)
            yield _Point(world.arrival(ns, unit, life.start_ms, first), run, "")
