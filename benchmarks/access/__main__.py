"""``python -m benchmarks.access``: what a policy costs route lookups, in one run with interleaved rounds.

Rows: lookups without a policy, unsigned and signed; with networks enforced; signed ones that control has allowed; and
lookups that are for control. With ``--beside ROOT``, the tree of another build, that build without a policy too. Each
figure is the median of the rounds, each ratio that of the rounds to the first row. CPU time is that of the whole server
process. Instructions are counted by callgrind (Debian: ``valgrind``), without the kernel's part, one lookup at a time:
they are the same on a busy machine.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.access.guarded import CONTROL, NETWORKS, SIGNED
from benchmarks.access.servers import BESIDE, OFF, starters
from benchmarks.admin.instructions import a_lookup
from benchmarks.admin.servers import registered
from benchmarks.loading.brokers import Brokers, Shape
from benchmarks.loading.load import Lookups, lookups
from benchmarks.plan import BROKERS, FEW, TOPICS, WIDTH
from benchmarks.servers.running import Server

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
DEPTHS = (1, 16)
UNSIGNED, IS_SIGNED = "json", "json-signed"
# Which server is asked with which lookups, and the greatest ratio of CPU time to the first row that is wanted.
ROWS = [
    (BESIDE, UNSIGNED, 1.0),
    (OFF, UNSIGNED, 1.01),
    (NETWORKS, UNSIGNED, 1.02),
    (OFF, IS_SIGNED, None),
    (SIGNED, IS_SIGNED, 1.5),
    (CONTROL, UNSIGNED, None),
]


@dataclass
class Row:
    """One server and form of lookups: a value for each round, by the number of outstanding requests."""

    name: str
    aim: float | None
    cpu_us: dict[int, list[float]] = field(default_factory=lambda: {depth: [] for depth in DEPTHS})
    per_second: dict[int, list[float]] = field(default_factory=lambda: {depth: [] for depth in DEPTHS})
    instructions: float | None = None

    def add(self, depth: int, load: Lookups) -> None:
        self.cpu_us[depth].append(load.cpu_us)
        self.per_second[depth].append(load.per_second)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.access", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one measurement (default: 0.5)")
    parser.add_argument("--beside", type=Path, help="the root of another build's tree")
    given = parser.parse_args()
    servers = starters(given.beside and given.beside.resolve())
    rows = {(server, form): Row(f"{server}, {form}", aim) for server, form, aim in ROWS if server in servers}
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as name:
        if shutil.which("valgrind"):
            count(rows, servers, Path(name, "counted"))
        measure(rows, servers, Path(name, "timed"), given.rounds, given.seconds)
    print("\n".join(table(list(rows.values()))))


def count(rows: dict[tuple[str, str], Row], servers: dict[str, Callable[..., Server]], folder: Path) -> None:
    """The instructions of a lookup of each row that a reactor answers."""
    for (server, form), row in rows.items():
        if server != CONTROL:
            row.instructions = a_lookup(folder / row.name, servers[server], form)


def measure(
    rows: dict[tuple[str, str], Row], servers: dict[str, Callable[..., Server]], folder: Path, rounds: int,
    seconds: float,
) -> None:  # fmt: skip
    """Every row in each round; each round begins with another one."""
    with ExitStack() as stack:
        started: dict[str, Brokers] = {}
        for name, starter in servers.items():
            server = starter(folder / name)
            stack.callback(server.kill)
            started[name] = registered(server, SHAPE)
            stack.callback(started[name].close)
        order = list(rows.items())
        for number in range(rounds + 1):
            for (server_name, form), row in order[number % len(order) :] + order[: number % len(order)]:
                for depth in DEPTHS:
                    load = lookups(started[server_name].server, connections=FEW, depth=depth, encoding=form,
                                   topics=TOPICS, seconds=seconds)  # fmt: skip
                    if number:  # the first round is a warm-up
                        row.add(depth, load)


def table(rows: list[Row]) -> list[str]:
    """As Markdown."""
    heads = [f"{what}, {depth} outstanding" for depth in DEPTHS for what in ("CPU µs", "ratio", "lookups/s")]
    lines = [
        "| Server, lookups | " + " | ".join(heads) + " | instructions | ratio | aim |",
        "|---|" + "---:|" * (len(heads) + 3),
    ]
    for row in rows:
        cells = [text for depth in DEPTHS for text in cells_of(row, rows[0], depth)]
        first, own = rows[0].instructions, row.instructions
        cells += ["-", "-"] if own is None or first is None else [f"{own:,.0f}", f"{own / first:.3f}"]
        lines.append(f"| {row.name} | {' | '.join(cells)} | {'-' if row.aim is None else f'{row.aim:.2f}'} |")
    return lines


def cells_of(row: Row, first: Row, depth: int) -> list[str]:
    """CPU time, its ratio with the quartiles of the rounds, and throughput."""
    ratios = [one / other for one, other in zip(row.cpu_us[depth], first.cpu_us[depth], strict=True)]
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return [
        f"{statistics.median(row.cpu_us[depth]):.2f}",
        f"{statistics.median(ratios):.3f} [{low:.3f} to {high:.3f}]",
        f"{statistics.median(row.per_second[depth]):,.0f}",
    ]


if __name__ == "__main__":
    main()
