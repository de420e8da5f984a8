"""How much is measured: the full run, the quick one, and the smoke run. Times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

ENCODINGS = {"json": "JSON headers", "rocketmq": "binary headers"}
DEPTHS = (1, 16)
# Connections of the route lookups: few and many.
FEW, MANY = 32, 4000
BROKERS = 10
TOPICS = 1000
# Each topic lives on this many of the brokers: an answer is about 900 bytes.
WIDTH = 4
MANY_TOPICS = 10_000
# Paced lookups: clients, topics of each client, and how often a client asks for each (pollNameServerInterval).
CLIENTS, CLIENT_TOPICS, POLL_EVERY_S = 100_000, 10, 30
CLIENTS_RATE = CLIENTS * CLIENT_TOPICS / POLL_EVERY_S


@dataclass(frozen=True)
class Plan:
    """Numbers and times of one run. In each round the servers take turns."""

    name: str
    starts: int
    rounds: int
    # One measurement of route lookups.
    route_s: float
    # Load before the first measurement: at most this long with each encoding, in slices.
    warm_up_s: float
    warm_up_slice_s: float
    # Registrations of one kind in a round; the maximum of warm-up rounds.
    registrations: int
    registration_rounds: int
    warm_up_registration_rounds: int
    # One measurement of latencies, without and with registrations.
    storm_s: float
    storm_rounds: int
    # Numbers of topics at which memory is read.
    memory_topics: tuple[int, ...]
    # The number of brokers that all have the same MANY_TOPICS topics.
    wide_brokers: int
    growing_topics: tuple[int, ...]
    growing_connections: tuple[int, ...]
    growing_rounds: int
    # A server that needs longer to register all brokers is left out from there on.
    register_s: float
    # By the part's name: a part that would take longer ends with fewer rounds.
    part_s: dict[str, float] = field(default_factory=dict)

    @property
    def total_s(self) -> float:
        """The time that all parts may take."""
        return sum(self.part_s.values())


PART_S: dict[str, float] = {
    "start": 40, "lookups": 370, "tls": 110, "paced": 150, "reactors": 25, "registering": 70, "storm": 230,
    "memory": 50, "wide": 115, "topics": 120, "connections": 105,
}  # fmt: skip
FULL = Plan(
    "full", starts=5, rounds=5, route_s=0.6, warm_up_s=12.0,
    warm_up_slice_s=0.8, registrations=20, registration_rounds=7, warm_up_registration_rounds=8, storm_s=0.8,
    storm_rounds=5, memory_topics=(1000, 100_000), wide_brokers=300, growing_topics=(1000, 100_000, 1_000_000),
    growing_connections=(10, 1000, 10_000), growing_rounds=3, register_s=25.0, part_s=PART_S,
)  # fmt: skip
QUICK = Plan(
    "quick", starts=1, rounds=2, route_s=0.15, warm_up_s=2.0,
    warm_up_slice_s=0.2, registrations=4, registration_rounds=2, warm_up_registration_rounds=2, storm_s=0.6,
    storm_rounds=1, memory_topics=(1000, 10_000), wide_brokers=30, growing_topics=(1000, 10_000),
    growing_connections=(10, 1000), growing_rounds=1, register_s=5.0,
    part_s={name: limit / 6 for name, limit in PART_S.items()},
)  # fmt: skip
# A few seconds a part: shows that everything works, not what it costs.
SMOKE = Plan(
    "smoke", starts=1, rounds=1, route_s=0.05, warm_up_s=0.1,
    warm_up_slice_s=0.1, registrations=1, registration_rounds=1, warm_up_registration_rounds=1, storm_s=0.2,
    storm_rounds=1, memory_topics=(1000,), wide_brokers=4, growing_topics=(1000,), growing_connections=(10,),
    growing_rounds=1, register_s=5.0, part_s=dict.fromkeys(PART_S, 5.0),
)  # fmt: skip
