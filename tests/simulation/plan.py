"""What a seed decides: who takes part and how each is configured, which faults are done to whom, when and how long."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.broker import ACTING, ASKING, OLD, PLAIN, Broker, Kind
from tests.simulation.nameserver import NameServer
from tests.simulation.network import Network
from tests.simulation.world import World

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
        "rocketns.reactors": 0, "journalPath": "/sim/ns1/journal", "journalFsyncMs": 200, "journalNs": "n1",
        "journalRotationBytes": random.choice([4_096, 1024**2]), "journalLookupSeconds": 0,
        "journalRetentionDays": 0, "rocketns.confirmSeconds": 90, "rocketns.restoreMaxSeconds": 31_536_000,
        "rocketns.askUnconfirmed": "false",
    }  # fmt: skip
    return Deployment(0, [{**settings, **more}], buffer_bytes=[None], keeps_socket=[random.random() < 0.3])


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


class Faults:
    """``changed`` is called after everything that is done to somebody."""

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._world, self._network = world, network
        self._servers, self._brokers = servers, brokers
        self._changed = changed
        self._acts: dict[str, Callable[[Fault], None]] = {
            "stop the name server": self._stop_server,
            "kill the name server": self._kill_server,
            "crash the name server in a write": self._crash_server,
            "cut the name server's power": self._power_server,
            "stall the name server": self._stall_server,
            "move the wall clock": self._move_wall_clock,
            "fill the disk": self._fill_disk,
            "break the disk": self._break_disk,
            "slow the disk": self._slow_disk,
            "stop the broker": self._stop_broker,
            "kill the broker": self._kill_broker,
            "cut the broker's power": self._power_broker,
            "stall the broker": self._stall_broker,
            "move the broker": self._move_broker,
            "change topics": self._change_topics,
            "cut the link": self._cut_link,
            "slow the link": self._slow_link,
            "restart all name servers": self._restart_all,
        }

    def plan(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self._world.at(fault.at_ms * 1000, lambda fault=fault: self._act(fault))

    def _act(self, fault: Fault) -> None:
        self._acts[fault.kind](fault)
        self._changed()

    def _later(self, fault: Fault, action: Callable[[], None]) -> None:
        def act() -> None:
            action()
            self._changed()

        self._world.after(fault.lasts_ms * 1000, act)

    def _stop_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.stop()
        self._later(fault, server.start)

    def _kill_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.kill()
        self._later(fault, server.start)

    def _crash_server(self, fault: Fault) -> None:
        """In one of the next changes of its disk. The restart comes in any case."""
        server = self._servers[fault.server]
        server.disk.crash_in = 1 + int(fault.amount * 40)

        def start() -> None:
            server.disk.crash_in = None
            server.start()

        self._later(fault, start)

    def _power_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.lose_power()

        def back() -> None:
            server.boot()
            server.start()

        self._later(fault, back)

    def _stall_server(self, fault: Fault) -> None:
        process = self._servers[fault.server].process
        if process is not None and process.is_alive:
            process.stop_running()
            self._later(fault, process.go_on)

    def _move_wall_clock(self, fault: Fault) -> None:
        clock = self._servers[fault.server].clock
        sign = 1 if fault.amount > 0.5 else -1
        clock.wall_ms += sign * min(WALL_JUMP_MS_MAX, int(fault.lasts_ms * (1 + fault.amount * 1_000)))

    def _fill_disk(self, fault: Fault) -> None:
        disk = self._servers[fault.server].disk
        disk.is_full = True
        self._later(fault, lambda: setattr(disk, "is_full", False))

    def _break_disk(self, fault: Fault) -> None:
        disk = self._servers[fault.server].disk
        disk.is_broken = True
        self._later(fault, lambda: setattr(disk, "is_broken", False))

    def _slow_disk(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.slow_us = int(fault.amount * SLOW_DISK_US_MAX)
        self._later(fault, lambda: setattr(server, "slow_us", 0))

    def _stop_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        broker.stop()
        self._later(fault, broker.start)

    def _kill_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        broker.kill()
        self._later(fault, broker.start)

    def _power_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        host = broker.host
        broker.lose_power()

        def back() -> None:
            self._network.down.discard(host)
            broker.start()

        self._later(fault, back)

    def _stall_broker(self, fault: Fault) -> None:
        process = self._brokers[fault.broker].process
        if process is not None and process.is_alive:
            process.stop_running()
            self._later(fault, process.go_on)

    def _move_broker(self, fault: Fault) -> None:
        """It is killed, or loses its power, and comes back with another address."""
        broker = self._brokers[fault.broker]
        if fault.amount < 0.5:
            broker.kill()
        else:
            broker.lose_power()
        broker.move(f"10.1.{self._world.now_us % 250}.{fault.broker + 1}")
        self._later(fault, broker.start)

    def _change_topics(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        if broker.broker_id == 0:
            broker.change_topics()

    def _cut_link(self, fault: Fault) -> None:
        host, server = self._brokers[fault.broker].host, self._servers[fault.server].host
        self._network.cut(host, server)
        self._later(fault, lambda: self._network.mend(host, server))

    def _slow_link(self, fault: Fault) -> None:
        link = self._network.link(self._brokers[fault.broker].host, self._servers[fault.server].host)
        link.slow_us = int(fault.amount * SLOW_US_MAX)
        self._later(fault, lambda: setattr(link, "slow_us", 0))

    def _restart_all(self, fault: Fault) -> None:
        for number, server in enumerate(self._servers):
            server.kill()
            self._world.after(int((fault.lasts_ms * 1000) * (1 + number * fault.amount / 10)), server.start)
