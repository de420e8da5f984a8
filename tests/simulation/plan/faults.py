"""The faults of a seed: what is done to whom, when, and for how long."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.simulation.plan.deployment import Deployment

FAULTS = (4, 20)
# How often each kind is chosen. A kind acts on a name server, on a broker, or on the link between the two.
SERVER_KINDS = {
    "stop the name server": 2, "kill the name server": 3, "crash the name server in a write": 4,
    "cut the name server's power": 3, "stall the name server": 5, "move the wall clock": 4, "fill the disk": 2,
    "break the disk": 1, "slow the disk": 2,
}  # fmt: skip
BROKER_KINDS = {
    "stop the broker": 4, "kill the broker": 4, "cut the broker's power": 3, "stall the broker": 3,
    "move the broker": 3, "change topics": 8,
}  # fmt: skip
LINK_KINDS = {"cut the link": 6, "slow the link": 3}
OTHER_KINDS = {"restart all name servers": 1}
KINDS = SERVER_KINDS | BROKER_KINDS | LINK_KINDS | OTHER_KINDS


@dataclass(frozen=True)
class Fault:
    """``server`` and ``broker`` are numbers in the deployment, ``amount`` means something else for each kind."""

    at_ms: int
    kind: str
    server: int
    broker: int
    lasts_ms: int
    amount: float

    def __str__(self) -> str:
        whom = ""
        if self.kind in SERVER_KINDS or self.kind in LINK_KINDS:
            whom += f" ns{self.server + 1}"
        if self.kind in BROKER_KINDS or self.kind in LINK_KINDS:
            whom += f" broker {self.broker}"
        return f"{self.at_ms / 1000:8.3f} s {self.kind}{whom}, {self.lasts_ms / 1000:.3f} s, {self.amount:.3f}"


def faults_of(random: random.Random, deployment: Deployment) -> list[Fault]:
    """In the order of their time. The last fifth of the time has no new ones, so that the end of most is seen."""
    last_ms = deployment.seconds * 800
    made = [_fault(random, deployment, last_ms) for _ in range(random.randint(*FAULTS))]
    return sorted(made, key=lambda fault: fault.at_ms)


def _fault(random: random.Random, deployment: Deployment, last_ms: int) -> Fault:
    kind = random.choices(list(KINDS), list(KINDS.values()))[0]
    return Fault(
        at_ms=random.randint(500, last_ms),
        kind=kind,
        server=random.randrange(len(deployment.settings)),
        broker=random.randrange(len(deployment.members)),
        lasts_ms=_length_ms(random),
        amount=random.random(),
    )


def _length_ms(random: random.Random) -> int:
    """Short, about a heartbeat, or longer than any time-out."""
    low, high = random.choice([(50, 1_500), (1_000, 15_000), (10_000, 60_000), (60_000, 200_000)])
    return random.randint(low, high)
