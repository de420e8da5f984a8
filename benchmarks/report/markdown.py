"""The report of all figures as Markdown."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.parts.catalogue import PARTS
from benchmarks.record import Record, Row
from benchmarks.report.aims import aims_table
from benchmarks.report.figures import best_java, figure, spread, table, times_better, times_the_cost
from benchmarks.report.store import FOLDER, Results
from benchmarks.servers.kinds import DEFAULT, FORMER, JAVAS, LABELS, RUST, C

INTRODUCTION = """\
Made by `make bench` (`python -m benchmarks`): one command, one commit, one run. All servers and the load generator run
on the same machine. They take turns, round by round, and each round has another order. A ratio is of one round. Figures
are medians of the rounds; ratios are given as median (least-greatest). The column "rocketns" is the default
configuration, and all ratios refer to it. "better than Java" and "better than Rust" say how many times less rocketns
needs, or how many times more it answers; below 1.00 it is worse. Java is the one of the three that does best in the
row. "times the C server" is the cost divided by that of a simple C server, which holds no routes; "times the former" is
the cost divided by that of another checkout (`--former`).

An aim is reached ("yes") if the median and the worse quartile of the rounds reach it. "not shown" means that only the
median does. The quartiles of few rounds are their least and greatest values."""


RATIOS: dict[str, Callable[[list[str]], bool]] = {
    "better than Java": lambda servers: DEFAULT in servers and bool({*servers} & {*JAVAS}),
    "better than Rust": lambda servers: DEFAULT in servers and RUST in servers,
    "times the C server": lambda servers: DEFAULT in servers and C in servers,
    "times the former": lambda servers: DEFAULT in servers and FORMER in servers,
}


def text(results: Results) -> str:
    """The whole report."""
    plots = [f"- [{path.stem}]({path.name})" for path in sorted(FOLDER.glob("*.svg"))] if results.plan == "full" else []
    lines = [f"# Name servers side by side, {results.plan} run", "", INTRODUCTION, ""]
    lines += [f"**The machine was busy**: {why}." for why in results.busy]
    lines += ["", "## Aims", "", *aims_table(results), "", "## Machine and versions", ""]
    lines += [f"- rocketns: commit {results.commit}"]
    lines += [f"- {name}: {value}" for name, value in results.machine.items()]
    lines += [f"- {LABELS[key]} was not measured: {why}" for key, why in results.unavailable.items()]
    lines += ["", "## Plots", "", *plots] if plots else []
    for part in PARTS:
        if record := results.find(part.name):
            lines += ["", *_part(record, results.methods.get(part.name, ""))]
    return "\n".join(lines) + "\n"


def _part(record: Record, method: str) -> list[str]:
    measured = {server for row in record.rows for server in row.values}
    servers = [key for key in LABELS if key in measured]
    ratios = [head for head, show in RATIOS.items() if show(servers)]
    lines = [f"## {record.title}", "", method, ""]
    lines += table(["What", "Unit", *(LABELS[key] for key in servers), *ratios], 2,
                   [_row(row, servers, ratios) for row in record.rows])  # fmt: skip
    lines += ["", *_missing(record), *(f"- {note}" for note in record.notes)]
    facts = "; ".join(f"{name}: {value}" for name, value in record.facts.items())
    return [*lines, f"- {facts}"]


def ratio(row: Row, head: str) -> str:
    """One of the ratio columns."""
    if head.startswith("times "):
        return spread(times_the_cost(row, DEFAULT, C if head == "times the C server" else FORMER))
    return spread(times_better(row, DEFAULT, RUST if head == "better than Rust" else best_java(row)))


def _row(row: Row, servers: list[str], ratios: list[str]) -> list[str]:
    return [row.what, row.unit, *(figure(row.middle(key)) for key in servers), *(ratio(row, head) for head in ratios)]


def _missing(record: Record) -> list[str]:
    """The reasons for empty cells."""
    lines = [f"- {LABELS[key]} is missing: {why}" for key, why in record.failed.items()]
    for what, whys in record.missing.items():
        lines += [f"- {LABELS[key]}, {what}: {why}" for key, why in whys.items()]
    return lines
