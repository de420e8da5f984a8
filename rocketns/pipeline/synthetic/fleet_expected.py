"""What the jobs about the fleet have to find, computed from the plan and from what each name server saw, never from the
journal: clients, failed time, single points of failure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rocketns.pipeline.synthetic.journal.effects import Sight
from rocketns.pipeline.synthetic.journal.lookups import Asking, asking, misser, newcomer, pollers
from rocketns.pipeline.synthetic.journal.sight import Session
from rocketns.pipeline.synthetic.scenario.plan import Boot, Plan
from rocketns.pipeline.synthetic.scenario.world import WIDTH, World

FAILURES, GRACEFUL = ("expired", "channel_close"), ("unregister",)
SAMPLE_MAX = 5


def fleet_of(world: World, plan: Plan, sights: Sequence[Sight]) -> dict[str, Any]:
    """Values that JSON can hold."""
    sole = _sole(world, plan)
    return {
        "pollers": [client for _, client in pollers(world)],
        "census": _census(world, plan),
        "askers": [[m.topic, misser(ns)] for m in plan.misses for ns in range(world.spec.name_servers)],
        "budgets": list(_budgets(world, plan, sights)),
        "sole": sole,
        "radius": _radius(sole),
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
    """Of each address, group, group's master and cluster over all name servers: time listed, away after a failure, and
    away after an unregistration. ``groups``: so many are summed up."""
    for level, broker, bid, groups in _levels(world):
        ms: Counter[str] = Counter()
        for ns, sight in enumerate(sights):
            for units in groups:
                ms += _times(plan.boots[ns], [s for unit in units for s in sight.sessions[unit]], world.spec.end_ms)
        row = {f"{what}_s": ms[what] / 1000 for what in ("listed", "failed", "planned")}
        row |= {"failures": ms["failures"], "groups": len(groups)}
        yield {"level": level, "broker": broker, "bid": bid} | row


def _levels(world: World) -> Iterator[tuple[str, str | None, int | None, list[list[int]]]]:
    """Level, broker's name, broker's id, and the members of each group that count."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for unit, named in enumerate(world.units):
        groups[named.broker].append(unit)
        yield "broker", named.broker, named.bid, [[unit]]
    for broker, units in groups.items():
        yield "group", broker, None, [units]
        yield "master", broker, None, [[world.masters[broker]]]
    yield "cluster", None, None, [*groups.values()]


def _times(boots: Sequence[Boot], sessions: Sequence[Session], end_ms: int) -> Counter[str]:
    """Of members that one name server lists as one: ms listed, failed and planned, and the number of failures."""
    times: Counter[str] = Counter()
    spells = _spells(sessions)
    backs = [*[begin_ms for begin_ms, _ in spells[1:]], end_ms]
    for (begin_ms, last), back_ms in zip(spells, backs, strict=True):
        times["listed"] += last.end_ms - begin_ms
        times["planned" if last.cause in GRACEFUL else "failed"] += _known(boots, last, back_ms)
        times["failures"] += last.cause in FAILURES
    return times


def _spells(sessions: Sequence[Session]) -> list[tuple[int, Session]]:
    """When any member was listed: since when without a break, and the session that ended last."""
    spells: list[tuple[int, Session]] = []
    for session in sorted(sessions, key=lambda session: session.reg_ms):
        if spells and session.reg_ms <= spells[-1][1].end_ms:
            begin_ms, last = spells[-1]
            spells[-1] = begin_ms, max(last, session, key=lambda one: one.end_ms)
        else:
            spells.append((session.reg_ms, session))
    return spells


def _known(boots: Sequence[Boot], session: Session, back_ms: int) -> int:
    """How long of the time from the session's down until the broker is back the name server was up."""
    if session.down_ms is None:
        return 0
    return sum(max(0, min(boot.end_ms, back_ms) - max(boot.start_ms, session.down_ms)) for boot in boots)


def _sole(world: World, plan: Plan) -> list[list[Any]]:
    """Scope, name, topic, whether it loses masters and write queues, and those queues: the broker or zone that takes
    all of a topic's brokers with it. At the end all are up, and take messages of every topic."""
    tables = {broker: plan.table(world, broker, world.spec.end_ms) for broker in world.tables}
    found = []
    for topic in [*world.topics(), *(topic for _, topic in plan.grown)]:
        queues = {broker: table[topic][WIDTH] for broker, table in tables.items() if topic in table}
        for scope, names in (("broker", {*queues}), ("zone", {world.zones[broker] for broker in queues})):
            found += [[scope, name, topic, True, True, sum(queues.values())] for name in names if len(names) == 1]
    return sorted(found)


def _radius(sole: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Scope, name, topics that lose their masters and their write queues, those queues, the first names."""
    lost: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for scope, name, topic, _, _, queues in sole:
        lost[scope, name][topic] = queues
    return [
        [*whose, len(topics), len(topics), sum(topics.values()), " ".join(sorted(topics)[:SAMPLE_MAX])]
        for whose, topics in sorted(lost.items())
    ]
