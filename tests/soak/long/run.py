"""One long soak: two servers, the peers of each, the disturbances, and the result.

The first server lives as long as the soak: it shows what grows. It is stopped now and then, and its disk becomes full.
The second one is killed again and again, and its wall clock jumps: it shows what is lost.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from tests.soak.long import disturbances
from tests.soak.long.peers import Broker, Passer, Peer, Putter, Reader, Service
from tests.soak.long.timeline import Timeline
from tests.soak.long.watching import Sample, sample

BROKERS, READERS, PUTTERS, PASSERS = 6, 3, 2, 2
# Seconds between two acts of a peer.
PACE_S = {Broker: 4.0, Reader: 0.02, Putter: 0.5, Passer: 0.1}
SAMPLE_S = 1.0
# Seconds between two disturbances of each kind, at random from half to one and a half of it.
EVERY_S = {"stop": 240.0, "fill": 300.0, "clock": 45.0}
KILL_EVERY_S = 20.0
LONG_LIVED, KILLED = "long-lived", "killed"


@dataclass
class Outcome:
    """``answers`` by server and kind of peer; ``left_out``: what could not be done here, and why."""

    seconds: float
    samples: list[Sample]
    disturbed: dict[str, Counter[str]]
    answers: Counter[str]
    faults: list[str]
    left_out: list[str]


class Soak:
    """Every act runs on a thread of its own until time is up or something failed."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.faults: list[str] = []
        self._threads: list[threading.Thread] = []

    def repeat(self, act: Callable[[], object], pause: Callable[[], float]) -> None:
        thread = threading.Thread(target=self._repeat, args=(act, pause))
        self._threads.append(thread)
        thread.start()

    def _repeat(self, act: Callable[[], object], pause: Callable[[], float]) -> None:
        try:
            while not self.over.wait(pause()):
                act()
        except BaseException as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")
            self.over.set()

    def finish(self) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()


def soak(folder: Path, seconds: float, seed: int, kill_every_s: float) -> Outcome:
    """Run for so long, or until the first fault."""
    disk, chance = folder / "disk", random.Random(seed)
    with contextlib.ExitStack() as stack:
        no_disk = stack.enter_context(disturbances.small_disk(disk))
        clock = disturbances.Clock.find(folder / "clock")
        long_lived = stack.enter_context(serving(folder / LONG_LIVED, disk, {}))
        killed = stack.enter_context(serving(folder / KILLED, folder / "killed-data", clock.env if clock else {}))
        services = {LONG_LIVED: long_lived, KILLED: killed}
        peers = {name: peers_of(service) for name, service in services.items()}
        running, samples, started = Soak(), list[Sample](), time.monotonic()
        stack.callback(running.finish)
        for peer in [*peers[LONG_LIVED], *peers[KILLED]]:
            running.repeat(peer.act, partial(float, PACE_S[type(peer)]))
        acts, left_out = what_is_done(long_lived, killed, None if no_disk else disk, clock, running.over, chance)
        for kind, act in acts.items():
            every = (EVERY_S | {"kill": kill_every_s})[kind]
            running.repeat(act, partial(chance.uniform, 0.5 * every, 1.5 * every))
        running.repeat(lambda: samples.append(sample(long_lived.server.pid, started)), partial(float, SAMPLE_S))
        running.over.wait(seconds)
        lasted = time.monotonic() - started
        running.finish()
        running.faults += [f"{name} ended with {n}" for name, one in services.items() if (n := one.server.stop())]
    disturbed = {name: Counter(one.kind for one in service.timeline.past) for name, service in services.items()}
    left_out += [no_disk] if no_disk else []
    return Outcome(lasted, samples, disturbed, answers(peers), running.faults, left_out)


def what_is_done(
    long_lived: Service, killed: Service, disk: Path | None, clock: disturbances.Clock | None, over: threading.Event,
    chance: random.Random,
) -> tuple[dict[str, Callable[[], None]], list[str]]:  # fmt: skip
    """The disturbances by kind, and those that cannot be made here, with the reason."""
    acts: dict[str, Callable[[], None]] = {
        "stop": partial(disturbances.stop_for_a_while, long_lived, over),
        "kill": partial(disturbances.kill, killed),
    }
    left_out = []
    if disk is not None:
        acts["fill"] = partial(disturbances.fill_disk, long_lived, disk, over)
    if clock is not None:
        acts["clock"] = partial(disturbances.change_clock, killed, clock, chance)
    else:
        left_out.append(f"no clock changes: {disturbances.FAKETIME} is not there (apt-get install faketime)")
    return acts, left_out


@contextlib.contextmanager
def serving(home: Path, data: Path, env: dict[str, str]) -> Iterator[Service]:
    """A server with a journal, else nearly in the default configuration; its data is in ``data``."""
    data.mkdir(parents=True, exist_ok=True)
    properties = {
        "listenPort": free_port(),
        "kvConfigPath": data / "kvConfig.json",
        "journalPath": data / "journal",
        "journalNs": home.name,
        "journalRetentionBytes": 64 << 20,
        # Its largest value: the age of what is restored is told by the wall clock, which is changed here.
        "rocketns.restoreMaxSeconds": 365 * 86_400,
    }
    server = RocketnsServer(home, properties, env=env)
    try:
        yield Service(server, Timeline())
    finally:
        server.kill()


def peers_of(service: Service) -> list[Peer]:
    """All brokers have registered once before anybody looks up."""
    brokers = [Broker(service, number) for number in range(BROKERS)]
    for broker in brokers:
        broker.act()
    return [
        *brokers,
        *[Reader(service, seed, BROKERS) for seed in range(READERS)],
        *[Putter(service, number) for number in range(PUTTERS)],
        *[Passer(service, seed) for seed in range(PASSERS)],
    ]


def answers(peers: dict[str, list[Peer]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for name, those in peers.items():
        for peer in those:
            counted[f"{name}: {type(peer).__name__}"] += peer.answers
    return counted
