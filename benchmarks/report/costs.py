"""Writes the section of docs/costs.md that has the last whole run, between two marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.parts import lookups, paced, registering, start, storm, tls, topics, wide
from benchmarks.parts.memory import name as memory_of
from benchmarks.plan import CLIENTS, DEPTHS, FEW, FULL, MANY, TOPICS
from benchmarks.record import Row
from benchmarks.report.aims import AIMS, UNMEASURED, YES
from benchmarks.report.figures import best_java, times_better
from benchmarks.report.short import short_table
from benchmarks.report.store import MixedRun, Results
from benchmarks.servers.kinds import DEFAULT, LABELS, RUST

PAGE = Path(__file__).parents[2] / "docs" / "costs.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
LOOKUP_UNITS = ("requests/s", "p50 µs", "p99 µs", "CPU µs")
STORM_UNITS = ("requests/s", "p50 µs", "p99 µs", "cores busy in the server")
REGISTRATION_UNITS = ("registrations/s", "p50 ms", "p99 ms", "CPU ms")


@dataclass(frozen=True)
class Line:
    """One measurement with several figures; the table has a row for each unit."""

    part: str
    what: str
    units: Sequence[str]

    def rows(self, results: Results) -> Iterator[Row]:
        """A row for each unit. If a figure was not measured, its row has no values."""
        record = results.find(self.part)
        for unit in self.units:
            yield (record.find(self.what, unit) if record else None) or Row(self.what, unit)


def _lines() -> Iterator[Line]:
    yield from (Line("paced", paced.name(*cell), LOOKUP_UNITS) for cell in paced.CELLS)
    yield from (Line("lookups", lookups.name(*cell), LOOKUP_UNITS) for cell in lookups.CELLS)
    yield from (Line("tls", tls.name(depth), LOOKUP_UNITS) for depth in DEPTHS)
    yield from (Line("registering", registering.name(kind), REGISTRATION_UNITS) for kind in registering.KINDS)
    for place in storm.PLACES:
        yield Line("storm", storm.name(storm.QUIET, place), STORM_UNITS)
        for rate in (storm.AT_JAVAS_RATE, storm.FULL_RATE):
            yield Line("storm", storm.name(rate, place), (*STORM_UNITS, "registrations/s"))
    yield Line("wide", wide.registering(FULL.wide_brokers), REGISTRATION_UNITS)
    yield Line("wide", wide.lookup(FULL.wide_brokers), LOOKUP_UNITS)
    yield Line("wide", wide.asked(FULL.wide_brokers), ("MB",))
    yield Line("topics", topics.lookup(FULL.growing_topics[-1], 16), LOOKUP_UNITS)
    yield from (Line("memory", memory_of(count), ("MB",)) for count in FULL.memory_topics)
    yield Line("start", start.WHAT, ("ms",))


LINES = list(_lines())
# At a given rate, the throughput of all servers that keep up is about the same.
BEHIND = 0.99
TEXT = """\
{short}

{behind}

One run of `make bench` on commit {commit}: all servers on the same machine ({machine}), with the same load in turn;
rocketns in its default configuration{busy}. Java is RocketMQ 5.5.0's NameServer with three settings of its virtual
machine. Rust is rocketmq-namesrv 1.0.0. The simple C server holds no routes. Lookups use {topics:,} topics unless a row
says otherwise. Figures are medians of the rounds. {reached} of {measured} aims are reached with the worse
quartile of the rounds. [full.md](../benchmarks/results/full.md) has all figures, aims and methods, and
says what is missing and why.

Not measured: a network (everything runs on loopback, and the load generators share the cores with the server), more
than {cores} cores, {clients:,} connections (the rate of so many clients uses {few} and {many:,}), TLS handshakes, real
brokers and clients, and more than some seconds of one load."""


def section(results: Results) -> str:
    """The text between the marks."""
    cores = results.machine.get("cores", "?")
    machine = ", ".join(word for word in (results.machine.get("processor"), f"{cores} cores") if word)
    verdicts = [aim.verdict(aim.values(record) if (record := results.find(aim.part)) else []) for aim in AIMS]
    text = TEXT.format(
        commit=results.commit, machine=machine, topics=TOPICS, cores=cores, clients=CLIENTS, few=FEW, many=MANY,
        busy="; the machine was busy" if results.busy else "", reached=verdicts.count(YES),
        measured=len(verdicts) - verdicts.count(UNMEASURED), short=short_table(results),
        behind=behind(results),
    )  # fmt: skip
    return f"{text}\n\n![CPU time of a route lookup on each server](../benchmarks/results/lookups.svg)"


def behind(results: Results) -> str:
    """The rows in which another server's median is better by more than the noise in a rate."""
    found: dict[str, list[str]] = {}
    for line in LINES:
        for row in line.rows(results):
            for key in (best_java(row), RUST):
                ratios = times_better(row, DEFAULT, key)
                if ratios and median(ratios) < BEHIND:
                    found.setdefault(LABELS[key], []).append(f"{row.what} ({row.unit})")
    if not found:
        return "In no row of the table is Java or Rust better than rocketns by more than 1 %."
    return "\n".join(
        f"- {label} is better than rocketns by more than 1 % in: {'; '.join(whats)}." for label, whats in found.items()
    )


def replaced(page: str, new: str) -> str:
    """The page with the new section. ValueError unless it has each mark exactly once."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(f"docs/costs.md needs {BEGIN} and {END}, once each")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{new}\n{END}{rest.split(END)[1]}"


def write(results: Results, path: Path | None = None) -> Path:
    """Write the section into docs/costs.md or another file. MixedRun unless the results are of one whole clean run."""
    if not results.is_whole or not results.is_clean:
        raise MixedRun("docs/costs.md needs a whole run on a commit without changes, and this run is not one")
    path = path or PAGE
    path.write_text(replaced(path.read_text("utf-8"), section(results)), "utf-8")
    return path
