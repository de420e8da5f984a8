"""What every part works with: the plan, the servers that can be measured, rounds in turns, and progress messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks.failures import reason
from benchmarks.loading.brokers import Brokers, Shape, with_brokers
from benchmarks.loading.load import Lookups, Paced, lookups, paced
from benchmarks.plan import Plan
from benchmarks.record import Cell, Record
from benchmarks.servers.kinds import DEFAULT, FORMER, ServerKind
from benchmarks.servers.process import resident_mb, settle
from benchmarks.servers.running import Needs, Server, running

One = TypeVar("One")
Found = dict[str, Brokers]
Measure = Callable[[Cell, Brokers], object]


@dataclass(frozen=True)
class Bench:
    """What one part is run with. ``folder`` belongs to the part and is deleted after it."""

    plan: Plan
    kinds: dict[str, ServerKind]
    folder: Path
    say: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)

    def choose(self, *keys: str) -> list[ServerKind]:
        """The given kinds, without those that cannot be measured on this machine. The former version, if there is
        one, stands beside the default."""
        wanted = [each for key in keys for each in ((key, FORMER) if key == DEFAULT else (key,))]
        return [self.kinds[key] for key in wanted if key in self.kinds]

    def turns(self, record: Record, rounds: int, servers: list[One]) -> Iterator[tuple[int, list[One]]]:
        """Each round's number and the order of the servers in it; another server begins in every round. Ends early,
        with a note in the record, if another round would exceed the part's time."""
        first = time.monotonic()
        for number in range(rounds):
            now = time.monotonic()
            if number and now - self.began + (now - first) / number > self.plan.part_s[record.name]:
                record.note(f"{number} of {rounds} rounds: then the time for this part was over")
                return
            begins = number % max(1, len(servers))
            yield number, servers[begins:] + servers[:begins]

    @contextmanager
    def registered(self, record: Record, keys: Sequence[str], shape: Shape, body: bytes = b"x", *,
                   tls: bool = False) -> Iterator[Found]:  # fmt: skip
        """Start servers of these kinds and register the shape's brokers with each; all are ended afterwards."""
        with (
            running(self.choose(*keys), self.folder, Needs(body, tls=tls), record.failed) as servers,
            with_brokers(servers, shape, self.plan.register_s, failing(record)) as found,
        ):
            yield found

    def measure(self, record: Record, rounds: int, found: Found, cells: Mapping[str, Measure]) -> None:
        """In each round, measure every cell on every server. A cell that failed on a server is not tried again."""
        for number, order in self.turns(record, rounds, list(found.values())):
            for what, measure in cells.items():
                self.say(f"round {number + 1} of {rounds}: {what}")
                for brokers in order:
                    key = brokers.server.kind.key
                    if not record.is_hopeless(key, what):
                        with record.cell(key, number, what) as cell:
                            measure(cell, brokers)


def add_memory(record: Record, servers: list[Server], what: str) -> None:
    """The resident memory of each server, once."""
    for server in servers:
        with record.cell(server.kind.key, 0, what) as cell:
            cell.add("MB", resident_mb(server.pid))


def measure_lookups(cell: Cell, brokers: Brokers, *, connections: int, depth: int, encoding: str, topics: int,
                    seconds: float, tls: bool = False) -> Lookups:  # fmt: skip
    """One run of nsload against the brokers' server. All its figures go into the cell."""
    server = brokers.server
    server.check_alive()
    brokers.keep_alive()
    load = lookups(server, connections=connections, depth=depth, encoding=encoding, topics=topics, seconds=seconds,
                   tls=tls)  # fmt: skip
    add_figures(cell, load)
    settle(server.pid)
    return load


def measure_paced(cell: Cell, brokers: Brokers, *, connections: int, rate: float, loop: str, topics: int,
                  seconds: float, warm_s: float) -> Paced:  # fmt: skip
    """One run of nspaced against the brokers' server. All its figures go into the cell."""
    server = brokers.server
    server.check_alive()
    brokers.keep_alive()
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
    """Split an open loop's p99 into the delay of the load generator itself, and the rest."""
    cell.add("p99 µs from due to sent", load.late_p99_us)
    cell.add("p99 µs from sent", load.sent_p99_us)


def failing(record: Record) -> Callable[[Server, Exception], None]:
    """For ``with_brokers``: note why this part has no figures of a server."""

    def failed(server: Server, error: Exception) -> None:
        record.failed[server.kind.key] = reason(error)

    return failed


def having(found: Found) -> list[Server]:
    """The servers whose brokers are registered."""
    return [brokers.server for brokers in found.values()]
