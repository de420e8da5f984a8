"""What the jobs about the fleet have to find, computed from the plan and from what each name server saw, never from the
journal: clients, failed time, single points of failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rocketns.pipeline.synthetic.journal.effects import Sight
from rocketns.pipeline.synthetic.journal.lookups import Asking, asking, misser, newcomer, pollers
from rocketns.pipeline.synthetic.journal.sight import Session
from rocketns.pipeline.synthetic.scenario.plan import Boot, Plan
from rocketns.pipeline.synthetic.scenario.world import World

FAILURES, GRACEFUL = ("expired", "channel_close"), ("unregister",)


def fleet_of(world: World, plan: Plan, sights: Sequence[Sight]) -> dict[str, Any]:
    """Values that JSON can hold."""
    return {
        "pollers": [client for _, client in pollers(world)],
        "census": _census(world, plan),
        "askers": [[m.topic, misser(ns)] for m in plan.misses for ns in range(world.spec.name_servers)],
        "budgets": list(_budgets(world, plan, sights)),
        "sole": _sole(world, plan),
    }


def _census(world: World, plan: Plan) -> list[list[Any]]:
    """Language, version, number of clients."""
    clients: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for ns in range(world.spec.name_servers):
        others = [Asking("", misser(ns), 1)] if plan.misses else []
        others += [Asking("", newcomer(), 1)] if plan.grown and not ns else []
        for asked in [*asking(world, plan, ns), *others]:
            clients[asked.by].add(asked.client)
    return sorted([*by, len(names)] for by, names in clients.items())


def _budgets(world: World, plan: Plan, sights: Sequence[Sight]) -> Iterator[dict[str, Any]]:
    """Of each address over all name servers: time away after a failure and after an unregistration."""
    for unit, named in enumerate(world.units):
        failed, planned, failures = 0, 0, 0
        for ns, sight in enumerate(sights):
            sessions = sight.sessions[unit]
            starts = [*[session.reg_ms for session in sessions[1:]], world.spec.end_ms]
            for session, back_ms in zip(sessions, starts, strict=True):
                away = _known(plan.boots[ns], session, back_ms)
                failed += away if session.cause in FAILURES else 0
                planned += away if session.cause in GRACEFUL else 0
                failures += session.cause in FAILURES
        row = {"failed_s": failed / 1000, "planned_s": planned / 1000, "failures": failures}
        yield {"broker": named.broker, "bid": named.bid} | row


def _known(boots: Sequence[Boot], session: Session, back_ms: int) -> int:
    """How long of the time from the session's down until the broker is back the name server was up."""
    if session.down_ms is None:
        return 0
    return sum(max(0, min(boot.end_ms, back_ms) - max(boot.start_ms, session.down_ms)) for boot in boots)


def _sole(world: World, plan: Plan) -> list[list[str]]:
    """Scope, name, topic: the broker or zone that takes all of a topic's brokers with it. At the end all are up."""
    tables = {broker: plan.table(world, broker, world.spec.end_ms) for broker in world.tables}
    found = []
    for topic in [*world.topics(), *(topic for _, topic in plan.grown)]:
        brokers = {broker for broker, table in tables.items() if topic in table}
        for scope, names in (("broker", brokers), ("zone", {world.zones[broker] for broker in brokers})):
            found += [[scope, name, topic] for name in names if len(names) == 1]
    return sorted(found)
