"""Storms, moved keys and growth that an audit has to find, from what each name server saw, never from the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import lcm
from statistics import linear_regression
from typing import Any

from rocketns.pipeline.synthetic.journal.effects import Sight
from rocketns.pipeline.synthetic.scenario.plan import Boot, Plan
from rocketns.pipeline.synthetic.scenario.spec import TIMEOUT_MS
from rocketns.pipeline.synthetic.scenario.world import WIDTH, QueueTable, World

DAY_MS = 86_400_000
APART_MS, STORM_MIN, SETTLED_MS = 30_000, 5, 30_000
HISTORY_DAYS, HISTORY_DAYS_MIN = 90, 3
# As (broker, write queues), by name.
Queues = tuple[tuple[str, int], ...]


def routes_of(world: World, plan: Plan, sights: Sequence[Sight]) -> dict[str, Any]:
    """Values that JSON can hold."""
    return {
        "storms": [row for ns, sight in enumerate(sights) for row in _storms(world, plan.boots[ns], ns, sight)],
        "moved": _moved(world, plan, sights),
        "growth": list(_growth(world, plan)),
        "limits": list(_limits(world, plan)),
    }


def _storms(world: World, boots: Sequence[Boot], ns: int, sight: Sight) -> Iterator[list[Any]]:
    """Name server, number, registrations, brokers, trigger; the numbers count a name server's storms."""
    number = 0
    for boot in boots:
        regs = sorted(
            (session.reg_ms, world.units[unit].broker, place > 0)
            for unit, sessions in enumerate(sight.sessions)
            for place, session in enumerate(sessions)
            if session.boot == boot
        )
        for run in _runs(regs):
            if len(run) >= STORM_MIN:
                returned = sum(back for _, _, back in run) * 2 > len(run)
                started = run[0][0] - boot.start_ms <= TIMEOUT_MS
                trigger = "start" if started else "return" if returned else "new"
                yield [world.name_servers[ns], number, len(run), len({broker for _, broker, _ in run}), trigger]
                number += 1


def _runs(regs: list[tuple[int, str, bool]]) -> list[list[tuple[int, str, bool]]]:
    runs: list[list[tuple[int, str, bool]]] = []
    for reg in regs:
        if not runs or reg[0] - runs[-1][-1][0] > APART_MS:
            runs.append([])
        runs[-1].append(reg)
    return runs


def _moved(world: World, plan: Plan, sights: Sequence[Sight]) -> list[list[Any]]:
    """Topic, steps at the name server that saw most, the largest part of the keys that one of them moved."""
    steps: defaultdict[str, list[list[float]]] = defaultdict(list)
    for boots, sight in zip(plan.boots, sights, strict=True):
        for topic, lists in _lists(boots, sight).items():
            settled = [queues for (at, queues), (until, _) in pairwise(lists) if queues and until - at >= SETTLED_MS]
            found = [_part_moved(old, new) for old, new in pairwise(settled) if old != new]
            if found:
                steps[topic].append(found)
    users = {*world.topics(), *(topic for _, topic in plan.grown)}
    used = {topic: parts for topic, parts in steps.items() if topic in users}
    return sorted([topic, max(map(len, parts)), round(max(map(max, parts)), 9)] for topic, parts in used.items())


def _lists(boots: Sequence[Boot], sight: Sight) -> dict[str, list[tuple[int, Queues]]]:
    """The write queues of each topic whenever they change, at one name server; empty at the end of each boot."""
    steps: list[tuple[int, str | None, QueueTable]] = [
        (effect.at_ms, effect.broker, effect.table) for effect in sight.effects if effect.table is not None
    ]
    steps += [(boot.end_ms, None, {}) for boot in boots]
    held: dict[str, QueueTable] = {}
    lists: defaultdict[str, list[tuple[int, Queues]]] = defaultdict(list)
    for at, broker, table in sorted(steps, key=lambda step: step[0]):
        before, held = held, held | {broker: table} if broker else {}
        brokers = [broker] if broker else list(before)
        for topic in {topic for name in brokers for topic in {**before.get(name, {}), **held.get(name, {})}}:
            queues = tuple((name, own[topic][WIDTH]) for name, own in sorted(held.items()) if topic in own)
            if not lists[topic] or lists[topic][-1][1] != queues:
                lists[topic].append((at, queues))
    return lists


def _part_moved(old: Queues, new: Queues) -> float:
    before, after = ([(broker, n) for broker, count in queues for n in range(count)] for queues in (old, new))
    hashes = lcm(len(before), len(after))
    return sum(before[h % len(before)] != after[h % len(after)] for h in range(hashes)) / hashes


def _growth(world: World, plan: Plan) -> Iterator[list[Any]]:
    """UTC day, topics, routes, and the broker with most topics, at the end of each day."""
    for day, tables in _days(world, plan):
        size = _sizes(tables)
        largest = max(size, key=lambda broker: (size[broker], broker))
        yield [day, len(set().union(*tables.values())), sum(map(len, tables.values())), largest, size[largest]]


def _limits(world: World, plan: Plan) -> Iterator[list[Any]]:
    """What grows, its size at the end, and how many bytes more it is each day."""
    days = [tables for _, tables in _days(world, plan)][-HISTORY_DAYS:]
    measures = {
        "registration": [max(_sizes(tables).values()) for tables in days],
        "topic_list": [170 + sum(3 + len(topic) for topic in set().union(*tables.values())) for tables in days],
    }
    for measure, sizes in measures.items():
        known = len(sizes) >= HISTORY_DAYS_MIN
        per_day = round(linear_regression(range(len(sizes)), sizes).slope, 6) if known else None
        yield [measure, sizes[-1], per_day]


def _days(world: World, plan: Plan) -> Iterator[tuple[int, dict[str, set[str]]]]:
    """UTC day, and the topics of each broker at its end; a deletion counts once every name server has it."""
    for day in range(world.spec.start_ms // DAY_MS, (world.spec.end_ms - 1) // DAY_MS + 1):
        ended = min((day + 1) * DAY_MS, world.spec.end_ms)
        tables = {broker: set(plan.table(world, broker, ended)) for broker in world.tables}
        for deletion in plan.deletions:
            if deletion.at_ms < ended <= deletion.late_ms:
                for broker in world.brokers_of(deletion.topic):
                    tables[broker].add(deletion.topic)
        yield day, tables


def _sizes(tables: dict[str, set[str]]) -> dict[str, int]:
    """Of each broker's registration."""
    return {broker: 663 + sum(144 + 2 * len(topic) for topic in table) for broker, table in tables.items()}
