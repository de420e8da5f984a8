"""Measured values by what was measured and on which server, and how they are written down."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parent / "results"
METHOD = """\
Both servers run on this machine beside the load generator and take turns, round by round; a ratio is of one round.
CPU time is that of the server process, all threads, user and system, divided by the requests it answered meanwhile.
Route lookups: {connections} connections, closed loop, {topics} topics on {width} of {brokers} brokers each, \
{route_s} s a round after {warm_up_s} s of warm-up on each encoding.
Registrations: one broker, {many} topics, {registrations} of each kind a round, after {warm_up_rounds} rounds of \
warm-up. "changed" has a new data version and one topic changed; "unchanged" is the same bytes again.
Start: from starting the process to the answer of its first request; {starts} starts.
Rounds: {rounds}. Values are medians."""

ROCKETNS, JAVA = "rocketns", "java"


class Results:
    """Values in the order in which things were first measured."""

    def __init__(self) -> None:
        # units by what was measured; values by what, then by server, one a round
        self.units: dict[str, str] = {}
        self.values: dict[str, dict[str, list[float]]] = {}

    def add(self, what: str, unit: str, server: str, value: float) -> None:
        self.units[what] = unit
        self.values.setdefault(what, defaultdict(list))[server].append(value)

    def ratios(self, what: str) -> list[float]:
        """rocketns / Java, one a round, sorted; empty where one of the two was not measured."""
        values = self.values[what]
        return sorted(a / b for a, b in zip(values.get(ROCKETNS, []), values.get(JAVA, []), strict=False) if b)

    def rows(self) -> list[tuple[str, ...]]:
        """Name, unit, median of each server, and the ratio's least, median and greatest, as text."""
        return [self._row(what) for what in self.values]

    def _row(self, what: str) -> tuple[str, ...]:
        medians = [_figure(median(v)) if (v := self.values[what].get(s)) else "-" for s in (ROCKETNS, JAVA)]
        ratios = self.ratios(what)
        spread = [f"{r:.3f}" for r in (ratios[0], median(ratios), ratios[-1])] if ratios else ["-"] * 3
        return (what, self.units[what], *medians, *spread)


HEADINGS = ("what", "unit", "rocketns", "Java", "ratio min", "median", "max")


def _figure(value: float) -> str:
    """Three significant digits at least."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def text_table(results: Results) -> str:
    """The table for a terminal: words to the left, numbers to the right."""
    rows = [HEADINGS, *results.rows()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(_aligned(i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows)


def _aligned(column: int, cell: str, width: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)


def markdown(results: Results, facts: dict[str, str], method: str) -> str:
    lines = ["# rocketns and the Java NameServer 5.5.0 side by side", "", "Ratios are rocketns / Java.", ""]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|---|---|" + "---:|" * 5]
    lines += ["| " + " | ".join(row) + " |" for row in results.rows()]
    lines += ["", "## Machine", "", *(f"- {name}: {value}" for name, value in facts.items())]
    lines += ["", "## Method", "", *(f"- {line}" for line in method.split("\n")), ""]
    return "\n".join(lines)


def write(name: str, results: Results, facts: dict[str, str], method: str) -> list[Path]:
    """The files NAME.json, with every value of every round, and NAME.md."""
    FOLDER.mkdir(exist_ok=True)
    report, raw = FOLDER / f"{name}.md", FOLDER / f"{name}.json"
    report.write_text(markdown(results, facts, method), "utf-8")
    measured = {what: {"unit": results.units[what], **values} for what, values in results.values.items()}
    raw.write_text(
        json.dumps({"machine": facts, "method": method, "values": measured}, indent=1, ensure_ascii=False) + "\n",
        "utf-8",
    )
    return [report, raw]
