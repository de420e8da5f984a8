"""What an audit has to find, computed from the plan and from what each name server saw, never from the journal.

Times are epoch us of the true clock. The times of an audit may differ by the remaining error of the clock offsets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from rocketns.pipeline.contract.terms import DEAD_DAYS, MIN_WINDOW_US
from tests.pipeline.synthetic.journal.effects import Sight
from tests.pipeline.synthetic.journal.lookups import hottest, pollers
from tests.pipeline.synthetic.journal.sight import Session
from tests.pipeline.synthetic.scenario.plan import BURST_FACTOR, HOUR_MS, Boot, Fault, Plan
from tests.pipeline.synthetic.scenario.spec import DAY_S
from tests.pipeline.synthetic.scenario.world import CLUSTER, QueueTable, World

MIN_WINDOW_MS = MIN_WINDOW_US // 1000
# A window of about MIN_WINDOW_MS may or may not be found: offsets are known to about this precision.
NEAR_MS = 500
FLAP_MS = 600_000
FAILURES, GRACEFUL = ("expired", "channel_close"), ("unregister",)
GRACE_MS = 5_000
FLAGGED_MISSES = 20
DEPARTURES = {
    "partition": "partition", "flap": "partition", "crash": "crash", "silent": "silent", "farewell": "graceful",
}  # fmt: skip


class Window(NamedTuple):
    """The running name servers disagree about the topic on the broker."""

    broker: str
    start_ms: int
    end_ms: int
    topic: str


def truth_of(world: World, plan: Plan, sights: Sequence[Sight]) -> dict[str, Any]:
    """The truth without the files: the observation, faults with their effects, brokers, topics and lookups."""
    spec = world.spec
    windows = [w for w in _windows(world, plan, sights) if w.end_ms - w.start_ms >= MIN_WINDOW_MS - NEAR_MS]
    return {
        "t0": spec.start_ms * 1000,
        "t1": spec.end_ms * 1000,
        "min_window": MIN_WINDOW_MS * 1000,
        "faults": list(_faults(world, plan, sights, windows)),
        "brokers": [row for ns, sight in enumerate(sights) for row in _brokers(world, plan, ns, sight)],
        "unasked": plan.dead,
        "dead": plan.dead if spec.seconds >= DEAD_DAYS * DAY_S else [],
        "hottest": hottest(world, plan)[0],
        "missing": list(_missing(plan)),
    } | {"pollers": [client for _, client in pollers(world)], "sole": _sole(world, plan)}


def _windows(world: World, plan: Plan, sights: Sequence[Sight]) -> Iterator[Window]:
    by_broker: dict[str, list[tuple[int, int, QueueTable | None]]] = defaultdict(list)
    for ns, sight in enumerate(sights):
        for effect in sight.effects:
            if effect.table is not None:
                by_broker[effect.broker].append((effect.at_ms, ns, effect.table))
    ups: list[tuple[int, int, QueueTable | None]] = [
        (boot.start_ms, ns, {}) for ns, boots in enumerate(plan.boots) for boot in boots
    ]
    ends = [(boot.end_ms, ns, None) for ns, boots in enumerate(plan.boots) for boot in boots if boot.end]
    for broker, steps in by_broker.items():
        yield from _broker_windows(broker, [*ups, *ends, *steps], world.spec.name_servers, world.spec.end_ms)


def _broker_windows(
    broker: str, steps: list[tuple[int, int, QueueTable | None]], count: int, end_ms: int
) -> Iterator[Window]:
    """Steps are (ms, name server, its topics of the broker: None while it is down)."""
    tables: list[QueueTable | None] = [None] * count
    since: dict[str, int] = {}
    for at, group in groupby(sorted(steps, key=lambda step: step[0]), key=lambda step: step[0]):
        for _, ns, table in group:
            tables[ns] = table
        known = [table for table in tables if table is not None]
        differ = _differing(known)
        for topic in [topic for topic in since if topic not in differ]:
            yield Window(broker, since.pop(topic), at, topic)
        since |= {topic: at for topic in differ if topic not in since}
    yield from (Window(broker, start, end_ms, topic) for topic, start in since.items())


def _differing(tables: list[QueueTable]) -> set[str]:
    if all(table == tables[0] for table in tables):
        return set()
    return {topic for topic in set().union(*tables) if len({table.get(topic) for table in tables}) > 1}


def _faults(world: World, plan: Plan, sights: Sequence[Sight], windows: list[Window]) -> Iterator[dict[str, Any]]:
    of_fault: dict[int, list[Window]] = defaultdict(list)
    for window in windows:
        of_fault[_explains(plan.faults, window)].append(window)
    for number, fault in enumerate(plan.faults):
        yield {
            "id": f"{fault.kind}-{number + 1}",
            "kind": fault.kind,
            "t1": fault.at_ms * 1000,
            "t2": fault.until_ms * 1000,
            "brokers": list(fault.brokers),
            "ns": None if fault.ns is None else world.name_servers[fault.ns],
            **fault.details,
            "windows": [_window(key, list(group)) for key, group in groupby(sorted(of_fault[number]), lambda w: w[:3])],
            "departures": _departures(world, fault, sights),
            "doubtful": list(_doubtful(world, fault, sights)),
        }


def _explains(faults: list[Fault], window: Window) -> int:
    """The fault's place. Faults that may touch a broker are far apart, so there is one."""
    for place, fault in enumerate(faults):
        touched = window.broker in fault.brokers or (fault.kind in ("restart", "kill"))
        if touched and fault.at_ms <= window.start_ms <= fault.until_ms + GRACE_MS:
            return place
    raise ValueError(f"no fault explains {window}")


def _doubtful(world: World, fault: Fault, sights: Sequence[Sight]) -> Iterator[dict[str, Any]]:
    """The windows that a hidden change seems to make, from the change until the snapshot at the next full hour of that
    name server's clock. The name servers agreed all the time."""
    if fault.kind != "hidden_change" or fault.ns is None:
        return
    broker, offset_ms = fault.brokers[0], world.offsets_ms[fault.ns]
    changed_ms = [
        next(effect.at_ms for effect in sight.effects if effect.broker == broker and effect.at_ms >= fault.at_ms)
        for sight in sights
    ]
    snapshot_ms = -(-(changed_ms[fault.ns] + offset_ms) // HOUR_MS) * HOUR_MS - offset_ms
    begin_ms = max(changed_ms[fault.ns], min(at for ns, at in enumerate(changed_ms) if ns != fault.ns))
    if snapshot_ms - begin_ms >= MIN_WINDOW_MS + NEAR_MS:
        yield {"broker": broker, "topic": fault.details["topic"], "t1": begin_ms * 1000, "t2": snapshot_ms * 1000}


def _window(key: tuple[str, int, int], windows: list[Window]) -> dict[str, Any]:
    broker, start, end = key
    optional = end - start < MIN_WINDOW_MS + NEAR_MS
    topics = sorted(window.topic for window in windows)
    return {"broker": broker, "t1": start * 1000, "t2": end * 1000, "topics": topics, "optional": optional}


def _departures(world: World, fault: Fault, sights: Sequence[Sight]) -> list[dict[str, Any]]:
    """A flap's downs are one departure each, all others' together are one."""
    kind = DEPARTURES.get(fault.kind)
    if kind is None:
        return []
    unit = world.masters[fault.brokers[0]]
    downs = [
        (session.down_ms, world.name_servers[ns])
        for ns, sight in enumerate(sights)
        for session in sight.sessions[unit]
        if session.down_ms is not None and fault.at_ms <= session.down_ms <= fault.until_ms + GRACE_MS
    ]
    groups = [[down] for down in sorted(downs)] if fault.kind == "flap" else [sorted(downs)]
    return [
        {
            "broker": fault.brokers[0], "cluster": CLUSTER, "kind": kind, "ns": sorted({ns for _, ns in group}),
            "t1": group[0][0] * 1000, "t2": group[-1][0] * 1000,
        }
        for group in groups
    ]  # fmt: skip


def _brokers(world: World, plan: Plan, ns: int, sight: Sight) -> Iterator[dict[str, Any]]:
    for unit, sessions in zip(world.units, sight.sessions, strict=True):
        up_s = sum(session.end_ms - session.reg_ms for session in sessions) / 1000
        away = _away(plan.boots[ns], sessions, world.spec.end_ms)
        yield {
            "ns": world.name_servers[ns], "broker": unit.broker, "bid": unit.bid, "addr": unit.addr,
            "up_s": up_s, "failed_s": away["failed"] / 1000, "planned_s": away["planned"] / 1000,
            "failures": sum(session.cause in FAILURES for session in sessions),
            "graceful": sum(session.cause == "unregister" for session in sessions),
            "flaps": sum(_flapped(one, other) for one, other in pairwise(sessions)),
        }  # fmt: skip


def _flapped(session: Session, following: Session) -> bool:
    return session.cause in FAILURES and following.reg_ms - (session.down_ms or 0) <= FLAP_MS


def _missing(plan: Plan) -> Iterator[dict[str, Any]]:
    """Hours in which the misses of all name servers together are flagged."""
    for misses in plan.misses:
        if misses.burst_ms and misses.each * BURST_FACTOR >= FLAGGED_MISSES:
            yield {"topic": misses.topic, "hour": misses.burst_ms * 1000, "kind": "anomaly"}
        elif not misses.burst_ms:
            yield {"topic": misses.topic, "hour": misses.at_ms * 1000, "kind": "new"}


def _away(boots: Sequence[Boot], sessions: Sequence[Session], end_ms: int) -> Counter[str]:
    """ms ``failed`` and ``planned`` from each down until the broker is back, while the name server was up."""
    times: Counter[str] = Counter()
    ordered = sorted(sessions, key=lambda session: session.reg_ms)
    backs = [*[session.reg_ms for session in ordered[1:]], end_ms]
    for session, back_ms in zip(ordered, backs, strict=True):
        what = "planned" if session.cause in GRACEFUL else "failed" if session.cause in FAILURES else None
        if session.down_ms is not None and what:
            times[what] += sum(
                max(0, min(boot.end_ms, back_ms) - max(boot.start_ms, session.down_ms)) for boot in boots
            )
    return times


def _sole(world: World, plan: Plan) -> list[str]:
    """The topics that one broker alone serves at the end, where all brokers are up and take messages of every topic."""
    tables = [plan.table(world, broker, world.spec.end_ms) for broker in world.tables]
    topics = [*world.topics(), *(topic for _, topic in plan.grown)]
    return sorted(topic for topic in topics if sum(topic in table for table in tables) == 1)
