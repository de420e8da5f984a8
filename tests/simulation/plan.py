"""What a seed decides: who takes part and how each is configured, which faults are done to whom, when and how long."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.broker import ACTING, ASKING, OLD, PLAIN, Broker, Kind
from tests.simulation.nameserver import NameServer
from tests.simulation.network import Network
from tests.simulation.world import Process, World

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


def wild_deployment(random: random.Random, more: Mapping[str, object]) -> Deployment:
    """One name server, for peers whose steps are drawn from the grammar of all tests."""
    settings = {
        "journalPath": "/sim/ns1/journal", "journalFsyncMs": 200, "journalNs": "n1",
        "journalRotationBytes": random.choice([4_096, 1024**2]), "journalLookupSeconds": 0,
        "journalRetentionDays": 0, "rocketns.confirmSeconds": 90, "rocketns.restoreMaxSeconds": 31_536_000,
        "rocketns.askUnconfirmed": "false",
    }  # fmt: skip
    return Deployment(0, [{**settings, **more}], buffer_bytes=[None], keeps_socket=[random.random() < 0.3])


def _settings(random: random.Random, home: str) -> dict[str, object]:
    settings: dict[str, object] = {}
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


SLOW_US_MAX = 5_000_000
SLOW_DISK_US_MAX = 8_000_000
WALL_JUMP_MS_MAX = 2 * 86_400_000


Undo = Callable[[], object]


class Faults:
    """``changed`` is called after everything that is done to somebody."""

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._world, self._network = world, network
        self._servers, self._brokers = servers, brokers
        self._changed = changed

    def plan(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self._world.at(fault.at_ms * 1000, lambda fault=fault: self._act(fault))

    def _act(self, fault: Fault) -> None:
        undo = self._do(fault)

        def act() -> None:
            assert undo is not None
            undo()
            self._changed()

        if undo is not None:
            self._world.after(fault.lasts_ms * 1000, act)
        self._changed()

    def _do(self, fault: Fault) -> Undo | None:
        """What ends it."""
        if fault.kind in SERVER_KINDS:
            return self._do_to_disk(fault) if "disk" in fault.kind else self._do_to_server(fault)
        return self._do_to_broker(fault) if fault.kind in BROKER_KINDS else self._do_to_links(fault)

    def _do_to_server(self, fault: Fault) -> Undo | None:
        server = self._servers[fault.server]
        match fault.kind:
            case "stop the name server":
                server.stop()
            case "kill the name server":
                server.kill()
            case "crash the name server in a write":  # in one of the next; the restart comes in any case
                server.disk.crash_in = 1 + int(fault.amount * 40)
                return lambda: (setattr(server.disk, "crash_in", None), server.start())
            case "cut the name server's power":
                server.lose_power()
                return lambda: (server.boot(), server.start())
            case "stall the name server":
                return stalled(server.process)
            case _:  # its wall clock is moved
                by_ms = min(WALL_JUMP_MS_MAX, int(fault.lasts_ms * (1 + fault.amount * 1_000)))
                server.clock.wall_ms += by_ms if fault.amount > 0.5 else -by_ms
                return None
        return server.start

    def _do_to_disk(self, fault: Fault) -> Undo:
        server = self._servers[fault.server]
        if fault.kind == "slow the disk":
            server.slow_us = int(fault.amount * SLOW_DISK_US_MAX)
            return lambda: setattr(server, "slow_us", 0)
        what = "is_full" if fault.kind == "fill the disk" else "is_broken"
        setattr(server.disk, what, True)
        return lambda: setattr(server.disk, what, False)

    def _do_to_broker(self, fault: Fault) -> Undo | None:
        broker = self._brokers[fault.broker]
        match fault.kind:
            case "stop the broker":
                broker.stop()
            case "kill the broker":
                broker.kill()
            case "cut the broker's power":
                host = broker.host
                broker.lose_power()
                return lambda: (self._network.down.discard(host), broker.start())
            case "stall the broker":
                return stalled(broker.process)
            case "move the broker":  # it is killed, or loses its power, and comes back with another address
                (broker.kill if fault.amount < 0.5 else broker.lose_power)()
                broker.move(f"10.1.{self._world.now_us % 250}.{fault.broker + 1}")
            case _:
                if broker.broker_id == 0:
                    broker.change_topics()
                return None
        return broker.start

    def _do_to_links(self, fault: Fault) -> Undo | None:
        ends = self._brokers[fault.broker].host, self._servers[fault.server].host
        if fault.kind == "cut the link":
            self._network.cut(*ends)
            return lambda: self._network.mend(*ends)
        if fault.kind == "slow the link":
            link = self._network.link(*ends)
            link.slow_us = int(fault.amount * SLOW_US_MAX)
            return lambda: setattr(link, "slow_us", 0)
        for number, server in enumerate(self._servers):
            server.kill()
            self._world.after(int((fault.lasts_ms * 1000) * (1 + number * fault.amount / 10)), server.start)
        return None


def stalled(process: Process | None) -> Undo | None:
    if process is None or not process.is_alive:
        return None
    process.stop_running()
    return process.go_on
