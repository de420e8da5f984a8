"""What a fleet consists of: name servers with their clocks, brokers with their topics, consumer groups, and heartbeat
delays. All times are ms of one true clock."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from tests.pipeline.synthetic.scenario.spec import FleetSpec

CLUSTER = "demo"
SMALL_JITTERS = 1024
JITTER_MS_MAX = 40
DELAY_MS_MAX = 8
LATE_MS_MAX = JITTER_MS_MAX + DELAY_MS_MAX

# topic → (read queues, write queues, permission)
QueueTable = dict[str, tuple[int, int, int]]
WIDTH = 1  # the place of the write queues


class Unit(NamedTuple):
    """One broker process: a master (bid 0) or a slave."""

    broker: str
    addr: str
    bid: int


class ConsumerGroup(NamedTuple):
    """A consumer group; ``clients`` as (name server's index, address)."""

    name: str
    topic: str
    clients: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class World:
    """``masters``: index of each broker's master in ``units``; ``zones``: each broker's; ``tables``: its topics at the
    start."""

    spec: FleetSpec
    name_servers: list[str]
    offsets_ms: list[int]
    units: list[Unit]
    masters: dict[str, int]
    zones: dict[str, str]
    tables: dict[str, QueueTable]
    groups: list[ConsumerGroup]
    jitter: list[int]
    delay: list[int]

    def arrival(self, ns: int, unit: int, life_ms: int, k: int) -> int:
        """When the k-th heartbeat of a broker that started at ``life_ms`` reaches a name server."""
        jitter = self.jitter[(k * 31 + unit * 7) & 1023]
        return life_ms + k * self.spec.heartbeat_ms + jitter + self.delay[(k * 17 + unit * 5 + ns * 3) & 1023]

    def first_beat(self, ns: int, unit: int, life_ms: int, at_ms: int) -> int:
        """The first heartbeat that arrives at ``at_ms`` or later."""
        k = max(0, (at_ms - life_ms - LATE_MS_MAX) // self.spec.heartbeat_ms)
        while self.arrival(ns, unit, life_ms, k) < at_ms:
            k += 1
        return k

    def topics(self) -> list[str]:
        """The user topics, those looked up most first."""
        return sorted({topic for table in self.tables.values() for topic in table if topic.startswith("topic")})

    def brokers_of(self, topic: str) -> list[str]:
        return [broker for broker, table in self.tables.items() if topic in table]


def build(spec: FleetSpec) -> World:
    """The world of a spec; its seed decides the rest."""
    chance = random.Random(f"world {spec.seed}")
    names = [f"broker-{number:03d}" for number in range(1, spec.brokers + 1)]
    units = [Unit(name, f"10.0.{n >> 8}.{n & 255}:10911", 0) for n, name in enumerate(names, 1)]
    units += [Unit(name, f"10.1.{n >> 8}.{n & 255}:10911", 1) for n, name in enumerate(names[: spec.slaves], 1)]
    zones = {name: f"zone-{number % spec.zones + 1}" for number, name in enumerate(names)}
    tables = _tables(spec, names)
    _narrow(spec, zones, tables)
    offsets = [round(chance.uniform(-1, 1) * spec.clock_spread_ms) for _ in range(spec.name_servers)]
    for ns, ahead_s in enumerate(spec.ahead_s):
        offsets[ns] += ahead_s * 1000
    return World(
        spec=spec,
        name_servers=[f"ns-{number}" for number in range(1, spec.name_servers + 1)],
        offsets_ms=offsets,
        units=units,
        masters={unit.broker: index for index, unit in enumerate(units) if unit.bid == 0},
        zones=zones,
        tables=tables,
        groups=_groups(spec),
        jitter=[chance.randint(0, JITTER_MS_MAX) for _ in range(SMALL_JITTERS)],
        delay=[chance.randint(1, DELAY_MS_MAX) for _ in range(SMALL_JITTERS)],
    )


def _tables(spec: FleetSpec, names: list[str]) -> dict[str, QueueTable]:
    """Topics dealt out evenly; a group's retry topic is on the brokers of its topic; each broker has its own topics."""
    tables: dict[str, QueueTable] = {
        name: {"TBW102": (8, 8, 7), CLUSTER: (16, 16, 7), name: (1, 1, 7)} for name in names
    }
    for number in range(spec.topics):
        for place in range(spec.width):
            table = tables[names[(number * spec.width + place) % spec.brokers]]
            table[f"topic-{number:05d}"] = (spec.queues, spec.queues, 6)
            if number < spec.groups:
                table[f"%RETRY%group-{number}"] = (1, 1, 6)
    return tables


def _narrow(spec: FleetSpec, zones: dict[str, str], tables: dict[str, QueueTable]) -> None:
    """The last topics keep one broker only; those before them only the brokers of one zone."""
    first_lone = spec.topics - spec.faults.lone_topics
    for number in range(first_lone - spec.faults.zone_topics, spec.topics):
        topic = f"topic-{number:05d}"
        first, *others = [broker for broker, table in tables.items() if topic in table]
        for broker in others:
            if number >= first_lone or zones[broker] != zones[first]:
                del tables[broker][topic]


def _groups(spec: FleetSpec) -> list[ConsumerGroup]:
    """Members of a group ask one name server after another, as clients choose theirs at random."""
    made = []
    for number in range(min(spec.groups, spec.topics)):
        clients = tuple((m % spec.name_servers, f"10.2.{number}.{m + 1}:40{m:03d}") for m in range(spec.members))
        made.append(ConsumerGroup(f"group-{number}", f"topic-{number:05d}", clients))
    return made
