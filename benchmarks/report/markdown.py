"""The report of all figures as Markdown."""

from __future__ import annotations

from benchmarks.kinds import JAVA, LEAST, RUST
from benchmarks.parts.catalogue import PARTS
from benchmarks.record import Record, Row
from benchmarks.report.aims import aims_table
from benchmarks.report.figures import LABELS, figure, first_measured, spread, table, times_better, times_the_cost
from benchmarks.report.store import FOLDER, Results

INTRODUCTION = """\
Made by `make bench` (`python -m benchmarks`). All servers and the load generator run on the same machine and take
turns, round by round, each round in another order; a ratio is of one round. Figures are medians over the rounds,
ratios are given as median (least-greatest). "better than Java" and "better than Rust" say how many times less rocketns
needs, or how many times more it answers; "times the least" is its cost over that of the least-possible server, a C
program that looks nothing up. Ratios are of the rocketns that is named above the table."""


def text(results: Results) -> str:
    """The whole report."""
    plots = [f"- [{path.stem}]({path.name})" for path in sorted(FOLDER.glob("*.svg"))] if results.plan == "full" else []
    lines = [f"# Name servers side by side, {results.plan} run", "", INTRODUCTION, ""]
    lines += ["## What is aimed at", "", *aims_table(results), "", "## Machine and versions", ""]
    lines += [f"- {name}: {value}" for name, value in results.machine.items()]
    lines += [f"- {LABELS[key]} was not measured: {why}" for key, why in results.unavailable.items()]
    lines += ["", "## Plots", "", *plots] if plots else []
    for part in PARTS:
        if record := results.find(part.name):
            lines += ["", *_part(record, part.base, results.methods.get(part.name, ""))]
    return "\n".join(lines) + "\n"


def _part(record: Record, base_keys: tuple[str, ...], method: str) -> list[str]:
    base = first_measured(record, base_keys)
    measured = {server for row in record.rows for server in row.values}
    servers = [key for key in LABELS if key in measured]
    head = ["What", "Unit", *(LABELS[key] for key in servers), *_ratio_heads(servers)]
    lines = [f"## {record.title}", "", method, "", f"Ratios are of: {LABELS[base]}.", ""]
    lines += table(head, 2, [_row(row, base, servers) for row in record.rows])
    lines += ["", *_missing(record), *(f"- {note}" for note in record.notes)]
    facts = "; ".join(f"{name}: {value}" for name, value in record.facts.items())
    return [*lines, f"- {facts}"]


def _ratio_heads(servers: list[str]) -> list[str]:
    heads = {JAVA: "better than Java", RUST: "better than Rust", LEAST: "times the least"}
    return [head for key, head in heads.items() if key in servers]


def _row(row: Row, base: str, servers: list[str]) -> list[str]:
    figures = [figure(row.middle(key)) for key in servers]
    ratios = [spread(times_better(row, base, key)) for key in (JAVA, RUST) if key in servers]
    if LEAST in servers:
        ratios.append(spread(times_the_cost(row, base, LEAST)))
    return [row.what, row.unit, *figures, *ratios]


def _missing(record: Record) -> list[str]:
    """Why cells are empty."""
    lines = [f"- {LABELS[key]} is missing: {why}" for key, why in record.failed.items()]
    for what, whys in record.missing.items():
        lines += [f"- {LABELS[key]}, {what}: {why}" for key, why in whys.items()]
    return lines
