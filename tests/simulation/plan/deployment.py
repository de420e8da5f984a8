"""The deployment of a seed: how many name servers, brokers and clients, and how each is configured."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.simulation.actors.broker import ACTING, ASKING, OLD, PLAIN, Kind

SECONDS = (100, 260)
# So small that a few seconds without the disk fill it. The smallest that a file may ask for is 16 times as large.
SMALL_BUFFER_BYTES = 4_096
TOPICS = [f"T{number}" for number in range(12)]


@dataclass(frozen=True)
class Member:
    """A broker: its group, its id in the group, and the number of its host."""

    name: str
    broker_id: int
    kind: Kind
    host: str


@dataclass
class Deployment:
    """``settings`` has each name server's properties, ``buffer_bytes`` the size of its journal's buffer or None.

    ``keeps_socket``: whether a supervisor has its listening socket, so that connections wait while it restarts.
    """

    seconds: int
    settings: list[dict[str, object]] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    clients: int = 1
    buffer_bytes: list[int | None] = field(default_factory=list)
    keeps_socket: list[bool] = field(default_factory=list)


def deployment_of(random: random.Random) -> Deployment:
    """What the seed's numbers decide first."""
    made = Deployment(random.randint(*SECONDS), clients=random.randint(1, 2))
    for number in range(1, random.choice([1, 2, 2, 3]) + 1):
        made.settings.append(_settings(random, f"/sim/ns{number}"))
        made.buffer_bytes.append(random.choice([None, None, SMALL_BUFFER_BYTES]))
        made.keeps_socket.append(random.random() < 0.3)
    _let_all_be_seeds(random, made.settings)
    for group in range(random.randint(1, 4)):
        made.members += _group(random, group)
    return made


def _settings(random: random.Random, home: str) -> dict[str, object]:
    settings: dict[str, object] = {"rocketns.reactors": 0}
    if random.random() < 0.9:
        settings |= {
            "rocketns.restore": random.choice(["true", "true", "true", "false"]),
            "rocketns.restoreMaxSeconds": 31_536_000,
            "rocketns.confirmSeconds": random.choice([20, 90]),
            "journalPath": f"{home}/journal",
            "journalFsyncMs": random.choice([200, 1_000, 1_000, 5_000]),
            "journalRotationSeconds": random.choice([5, 60, 600]),
            "journalRotationBytes": random.choice([4_096, 64 * 1024, 1024**2]),
            "journalBufferBytes": random.choice([64 * 1024, 16 * 1024**2]),
            "journalLookupSeconds": random.choice([0, 60]),
        }
    if random.random() < 0.2:
        settings["scanNotActiveBrokerInterval"] = random.choice([1_000, 10_000])
    if random.random() < 0.2:
        settings["rocketns.turnRequestsMax"] = random.choice([1, 3])
    if random.random() < 0.2:
        settings |= {"rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": 60}
    if random.random() < 0.5:
        settings["supportActingMaster"] = "true"
    if random.random() < 0.15:
        settings["deleteTopicWithBrokerRegistration"] = "true"
    return settings


def _let_all_be_seeds(random: random.Random, settings: list[dict[str, object]]) -> None:
    """All have the same list, which names each of them as well. A seed does not tell who announced an address."""
    if len(settings) > 1 and random.random() < 0.6:
        servers = ";".join(f"10.0.9.{number}:9876" for number in range(1, len(settings) + 1))
        for one in settings:
            one |= {"rocketns.seedServers": servers, "rocketns.seedSeconds": random.choice([5, 30]),
                    "rocketns.askNetworks": "10.0.0.0/16"}  # fmt: skip


def _group(random: random.Random, group: int) -> list[Member]:
    kind = random.choice([PLAIN, PLAIN, OLD, ASKING, ACTING])
    size = random.choice([2, 3]) if kind is ACTING else random.choice([1, 1, 2])
    return [Member(f"b{group}", number, kind, f"10.0.{group}.{number + 1}") for number in range(size)]
