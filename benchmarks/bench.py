"""What every part works with: the plan, the servers that can be measured, turns, and words on the way."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.failures import EXPECTED, reason
from benchmarks.fleet import Fleet
from benchmarks.kinds import ASYNCIO, REACTORS_2, ROCKETNS, Kind
from benchmarks.load import Lookups, lookups
from benchmarks.plan import ENCODINGS, Plan
from benchmarks.process import settle
from benchmarks.record import Cell, Record
from benchmarks.running import Server

SHORT_WARM_UP_S = 0.3


@dataclass(frozen=True)
class Bench:
    """One run's surroundings. ``folder`` is this part's own and goes away after it."""

    plan: Plan
    kinds: dict[str, Kind]
    folder: Path
    say: Callable[[str], None]

    def choose(self, *keys: str) -> list[Kind]:
        """Those of the kinds that can be measured here."""
        return [self.kinds[key] for key in keys if key in self.kinds]

    def reactors_and(self, *keys: str) -> list[Kind]:
        """rocketns with one and with two reactors, or on asyncio where it has none, and others."""
        return (self.choose(ROCKETNS, REACTORS_2) or self.choose(ASYNCIO)) + self.choose(*keys)

    def turns(self, record: Record, rounds: int, servers: list[Server]) -> Iterator[tuple[int, list[Server]]]:
        """Each round's number and the order of the servers in it; every round another one begins. Ends early, and
        says so in the record, when another round would take the part over its time."""
        began = time.monotonic()
        for number in range(rounds):
            took = time.monotonic() - began
            if number and took + took / number > self.plan.part_s:
                record.note(f"{number} of {rounds} rounds: then the time for this part was over")
                return
            first = number % max(1, len(servers))
            yield number, servers[first:] + servers[:first]

    def warm_up(self, servers: list[Server], topics: int, share: float = 0.5) -> None:
        """Lookups in both encodings; long ones, a share of the plan's time, where a server compiles its code."""
        for server in servers:
            seconds = share * self.plan.warm_up_s if server.kind.compiles_itself else SHORT_WARM_UP_S
            for encoding, headers in ENCODINGS.items():
                self.say(f"warming up {server.kind.label}, {headers}, {seconds:g} s")
                # What fails here fails again where it is measured, and is written down there.
                with contextlib.suppress(*EXPECTED):
                    lookups(server, connections=32, depth=16, encoding=encoding, topics=topics, seconds=seconds)


def measure_lookups(cell: Cell, server: Server, fleet: Fleet, *, connections: int, depth: int, encoding: str,
                    topics: int, seconds: float) -> None:  # fmt: skip
    """One run of nsload, all its figures into the cell."""
    server.check_alive()
    fleet.keep_alive()
    load = lookups(server, connections=connections, depth=depth, encoding=encoding, topics=topics, seconds=seconds)
    add_figures(cell, load)
    settle(server.pid)


def add_figures(cell: Cell, load: Lookups) -> None:
    """CPU time, throughput and latencies, in the units of the tables."""
    cell.add("CPU µs", load.cpu_us)
    cell.add("requests/s", load.per_second)
    cell.add("p50 µs", load.p50_us)
    cell.add("p99 µs", load.p99_us)
    cell.add("p99.9 µs", load.p999_us)


def failing(record: Record) -> Callable[[Server, Exception], None]:
    """For ``fleets``: the reason stands for everything that the part would measure of that server."""

    def failed(server: Server, error: Exception) -> None:
        record.failed[server.kind.key] = reason(error)

    return failed


def having(servers: list[Server], found: dict[str, Fleet]) -> list[Server]:
    """The servers that have a fleet."""
    return [server for server in servers if server.kind.key in found]
