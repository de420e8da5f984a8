"""``python -m benchmarks.shadow``: route lookups sent directly to a Java name server, and through a shadow before it.

Rows: direct, passed, served; each as fast as they are answered with 1 and with 16 outstanding on 32 connections, and at
a rate that a cluster has (--rate), in an open loop. Each figure is the median of the rounds. CPU time is that of each
process for one lookup: the name server, the relay, rocketns' own half, and the judge. In the closed loops the relay is
the slowest part, so latencies there are those of a queue before it; at the rate they are what a client notices.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.admin.servers import registered
from benchmarks.loading.brokers import Shape
from benchmarks.loading.load import lookups, paced
from benchmarks.plan import BROKERS, FEW, TOPICS, WIDTH
from benchmarks.servers.kinds import DEFAULT, JAVA
from benchmarks.servers.running import Server
from benchmarks.shadow.standing import PROCESSES, Shadowed

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
DIRECT, PASSED, SERVED = "direct", "passed", "served"
WAYS = (DIRECT, PASSED, SERVED)
DEPTHS = (1, 16)
WARM_S = 0.3


@dataclass(frozen=True)
class Figures:
    """One measurement. ``cpu_us`` has the CPU time of each process for one lookup."""

    per_second: float
    p50_us: float
    p99_us: float
    cpu_us: dict[str, float]


@dataclass
class Row:
    """One way and load: a measurement for each round."""

    way: str
    load: str
    measured: list[Figures] = field(default_factory=list)

    def median(self, read: Callable[[Figures], float]) -> float:
        return statistics.median(map(read, self.measured))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shadow", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one measurement (default: 2)")
    parser.add_argument("--rate", type=int, default=1000, help="lookups a second in the open loop (default: 1000)")
    parser.add_argument("--upstream", choices=(JAVA, DEFAULT), default=JAVA)
    given = parser.parse_args()
    loads = {f"{depth} outstanding": depth for depth in DEPTHS} | {f"{given.rate:,} a second": -given.rate}
    rows = [Row(way, load) for load in loads for way in WAYS]
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as name:
        shadowed = Shadowed(Path(name), given.upstream)
        try:
            brokers = registered(shadowed.shadow, SHAPE)
            for number in range(given.rounds + 1):
                for row in rows:
                    figures = measure(shadowed, row.way, loads[row.load], given.seconds)
                    if number:  # the first round is a warm-up
                        row.measured.append(figures)
                brokers.keep_alive()
            brokers.close()
        finally:
            shadowed.kill()
    print("\n".join(table(rows)))


def measure(shadowed: Shadowed, way: str, load: int, seconds: float) -> Figures:
    """``load`` is the number of outstanding lookups on a connection, or below 0 a rate."""
    shadowed.switch(serve=way == SERVED)
    server = shadowed.upstream if way == DIRECT else shadowed.shadow
    before = shadowed.spent_s()
    per_second, p50_us, p99_us, asked = asked_of(server, load, seconds)
    after = shadowed.spent_s()
    cpu_us = {name: (after[name] - before[name]) / asked * 1e6 for name in PROCESSES}
    return Figures(per_second, p50_us, p99_us, cpu_us)


def asked_of(server: Server, load: int, seconds: float) -> tuple[float, float, float, float]:
    """Lookups a second, p50 and p99 in microseconds, and all lookups with those of the warm-up."""
    if load < 0:
        found = paced(server, connections=FEW, rate=-load, loop="open", topics=TOPICS, seconds=seconds, warm_s=WARM_S)
        return found.per_second, found.p50_us, found.p99_us, -load * (seconds + WARM_S)
    fast = lookups(server, connections=FEW, depth=load, encoding="json", topics=TOPICS, seconds=seconds)
    return fast.per_second, fast.p50_us, fast.p99_us, fast.per_second * seconds * 1.2  # nsload's warm-up


def table(rows: list[Row]) -> list[str]:
    """As Markdown."""
    heads = ["lookups/s", "p50 µs", "p99 µs", *(f"CPU µs of the {name}" for name in PROCESSES)]
    lines = ["| Load | Way | " + " | ".join(heads) + " |", "|---|---|" + "---:|" * len(heads)]
    for row in rows:
        cells = [f"{row.median(lambda one: one.per_second):,.0f}", f"{row.median(lambda one: one.p50_us):,.0f}",
                 f"{row.median(lambda one: one.p99_us):,.0f}"]  # fmt: skip
        cells += [f"{row.median(lambda one, name=name: one.cpu_us[name]):.1f}" for name in PROCESSES]  # type: ignore[misc]
        lines.append(f"| {row.load} | {row.way} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
