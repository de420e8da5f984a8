"""How much is measured: the full run and the quick one. Everything is bounded here; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass

ENCODINGS = {"json": "JSON headers", "rocketmq": "binary headers"}
DEPTHS = (1, 16)
# Connections of the route lookups: as in the design's figures, and many.
FEW, MANY = 32, 4000
BROKERS = 10
TOPICS = 1000
# Each topic lives on this many of the brokers: an answer is about 900 bytes.
WIDTH = 4
MANY_TOPICS = 10_000


@dataclass(frozen=True)
class Plan:
    """Rounds over all measurements; in each the servers take turns."""

    name: str
    starts: int
    rounds: int
    # One measurement of route lookups. Load on each encoding before the first one: Java compiles its code meanwhile.
    route_s: float
    warm_up_s: float
    # Registrations of one kind in a round; rounds before the first that counts.
    registrations: int
    warm_up_registration_rounds: int
    # One measurement of latencies, quiet and again during a storm.
    storm_s: float
    storm_rounds: int
    # Topics at which memory is read.
    memory_topics: tuple[int, ...]
    # Many brokers that all have the same MANY_TOPICS topics.
    wide_brokers: int
    growing_topics: tuple[int, ...]
    growing_connections: tuple[int, ...]
    growing_rounds: int
    # A server that has not registered a whole fleet within this time is left out of what would follow.
    register_s: float
    # Where a part takes longer than this, it ends with fewer rounds.
    part_s: float


# Java gets faster for a minute or so, however its heap is set.
FULL = Plan(
    "full", starts=5, rounds=5, route_s=0.7, warm_up_s=12.0, registrations=8, warm_up_registration_rounds=6,
    storm_s=3.0, storm_rounds=5, memory_topics=(1000, 100_000), wide_brokers=300,
    growing_topics=(1000, 10_000, 100_000, 1_000_000), growing_connections=(10, 100, 1000, 10_000), growing_rounds=3,
    register_s=40.0, part_s=420.0,
)  # fmt: skip
QUICK = Plan(
    "quick", starts=1, rounds=2, route_s=0.2, warm_up_s=1.5, registrations=3, warm_up_registration_rounds=1,
    storm_s=1.0, storm_rounds=2, memory_topics=(1000, 10_000), wide_brokers=30,
    growing_topics=(1000, 10_000), growing_connections=(10, 100, 1000), growing_rounds=1,
    register_s=5.0, part_s=45.0,
)  # fmt: skip
