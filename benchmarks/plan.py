"""How much is measured: the full run and the quick one. Everything is bounded here."""

from __future__ import annotations

from dataclasses import dataclass

ENCODINGS = {"json": "JSON headers", "rocketmq": "binary headers"}
DEPTHS = (1, 16)
CONNECTIONS = 32
BROKERS = 10
TOPICS = 1000
# Each topic lives on this many of the brokers: an answer is about 900 bytes.
WIDTH = 4
MANY_TOPICS = 10_000


@dataclass(frozen=True)
class Plan:
    """Rounds over all measurements; in each the two servers take turns."""

    name: str
    rounds: int
    # One route measurement, once the server is warm.
    route_s: float
    # Route load on each encoding before the first measurement: Java compiles its code meanwhile.
    warm_up_s: float
    # Registrations of one kind in a round.
    registrations: int
    # Rounds of registrations before the first that counts, for the same reason.
    warm_up_registration_rounds: int
    starts: int


# Java gets faster for a minute or so, however its heap is set.
FULL = Plan("full", rounds=5, route_s=2.0, warm_up_s=15.0, registrations=10, warm_up_registration_rounds=8, starts=5)
QUICK = Plan("quick", rounds=3, route_s=0.5, warm_up_s=3.0, registrations=3, warm_up_registration_rounds=2, starts=2)
