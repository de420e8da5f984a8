"""What every part works with: the plan, the servers that can be measured, turns, and words on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.failures import reason
from benchmarks.brokers import Fleet
from benchmarks.kinds import Kind
from benchmarks.load import Lookups, Paced, lookups, paced
from benchmarks.plan import Plan
from benchmarks.process import settle
from benchmarks.record import Cell, Record
from benchmarks.running import Server


@dataclass(frozen=True)
class Bench:
    """One part's surroundings. ``folder`` is its own and goes away after it."""

    plan: Plan
    kinds: dict[str, Kind]
    folder: Path
    say: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)

    def choose(self, *keys: str) -> list[Kind]:
        """Those of the kinds that can be measured here."""
        return [self.kinds[key] for key in keys if key in self.kinds]

    def turns(self, record: Record, rounds: int, servers: list[Server]) -> Iterator[tuple[int, list[Server]]]:
        """Each round's number and the order of the servers in it; every round another one begins. Ends early, and
        says so in the record, when another round would take the part over its time."""
        first = time.monotonic()
        for number in range(rounds):
            now = time.monotonic()
            if number and now - self.began + (now - first) / number > self.plan.part_s[record.name]:
                record.note(f"{number} of {rounds} rounds: then the time for this part was over")
                return
            begins = number % max(1, len(servers))
            yield number, servers[begins:] + servers[:begins]


def measure_lookups(cell: Cell, server: Server, fleet: Fleet, *, connections: int, depth: int, encoding: str,
                    topics: int, seconds: float) -> Lookups:  # fmt: skip
    """One run of nsload, all its figures into the cell."""
    server.check_alive()
    fleet.keep_alive()
    load = lookups(server, connections=connections, depth=depth, encoding=encoding, topics=topics, seconds=seconds)
    add_figures(cell, load)
    settle(server.pid)
    return load


def measure_paced(cell: Cell, server: Server, fleet: Fleet, *, connections: int, rate: float, loop: str, topics: int,
                  seconds: float, warm_s: float) -> Paced:  # fmt: skip
    """One run of nspaced, all its figures into the cell."""
    server.check_alive()
    fleet.keep_alive()
    load = paced(server, connections=connections, rate=rate, loop=loop, topics=topics, seconds=seconds, warm_s=warm_s)
    add_figures(cell, load)
    if loop == "open":
        add_delays(cell, load)
    if load.unanswered:
        cell.record.note(f"{server.kind.label}, {cell.what}: {load.unanswered} of {load.requests} requests had no "
                         "answer 10 s after the end; they count in the latencies with that time")  # fmt: skip
    settle(server.pid)
    return load


def add_figures(cell: Cell, load: Lookups | Paced) -> None:
    """Throughput, latencies and CPU time, in the units of the tables."""
    cell.add("requests/s", load.per_second)
    cell.add("p50 µs", load.p50_us)
    cell.add("p99 µs", load.p99_us)
    cell.add("p99.9 µs", load.p999_us)
    cell.add("CPU µs", load.cpu_us)


def add_delays(cell: Cell, load: Paced) -> None:
    """Splits an open loop's p99 into the load generator's own wait for a core and the rest."""
    cell.add("p99 µs from due to sent", load.late_p99_us)
    cell.add("p99 µs from sent", load.sent_p99_us)


def failing(record: Record) -> Callable[[Server, Exception], None]:
    """For ``fleets``: the reason stands for everything that the part would measure of that server."""

    def failed(server: Server, error: Exception) -> None:
        record.failed[server.kind.key] = reason(error)

    return failed


def having(servers: list[Server], found: dict[str, Fleet]) -> list[Server]:
    """The servers that have a fleet."""
    return [server for server in servers if server.kind.key in found]
