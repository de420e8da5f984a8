"""The table and the plot in the README, between two marks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, ROCKETNS, RUST
from benchmarks.parts import lookups, reactors, registering, start, storm, topics, wide
from benchmarks.parts.memory import name as memory_of
from benchmarks.plan import DEPTHS, ENCODINGS, FEW, FULL, MANY, TOPICS
from benchmarks.report.figures import figure, first_measured, spread, table, times_better, times_the_cost
from benchmarks.report.store import Results

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
HEAD = ["", "unit", "rocketns", "Java 5.5.0", "Rust 1.0.0", "least possible", "better than Java", "better than Rust",
        "times the least"]  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of the table; ``servers``: the rocketns that it is about, the first of them that was measured."""

    text: str
    part: str
    what: str
    unit: str
    servers: tuple[str, ...] = (REACTORS_2, ASYNCIO)

    def cells(self, results: Results) -> list[str] | None:
        """None where it was not measured."""
        record = results.find(self.part)
        row = record.find(self.what, self.unit) if record else None
        if record is None or row is None:
            return None
        base = first_measured(record, self.servers)
        figures = [figure(row.middle(key)) for key in (base, JAVA, RUST, LEAST)]
        ratios = [times_better(row, base, JAVA), times_better(row, base, RUST), times_the_cost(row, base, LEAST)]
        return [f"{self.text} ({NAMES[base]})", self.unit, *figures, *map(spread, ratios)]


def _lookup_lines() -> list[Line]:
    one = (ROCKETNS, ASYNCIO)
    cells = [(FEW, encoding, depth) for encoding in ENCODINGS for depth in DEPTHS] + [(MANY, "json", 1)]
    return [
        Line(lookups.name(connections, encoding, depth), "lookups", lookups.name(connections, encoding, depth),
             "CPU µs", one)
        for connections, encoding, depth in cells
    ]  # fmt: skip


LINES = [
    *_lookup_lines(),
    Line(lookups.name(FEW, "json", 16), "lookups", lookups.name(FEW, "json", 16), "requests/s"),
    *(Line(registering.name(kind), "registering", registering.name(kind), "CPU ms")
      for kind in ("changed", "unchanged", "changed, compressed")),
    Line("route p99, quiet", "storm", storm.QUIET, "p99 µs"),
    Line("route p99 while 10,000-topic registrations run", "storm", storm.STORM, "p99 µs"),
    Line("the same", "storm", storm.STORM, storm.RATIO),
    Line("start to first answer", "start", start.WHAT, "ms"),
    *(Line(memory_of(count), "memory", memory_of(count), "MB") for count in FULL.memory_topics),
    Line(wide.registering(FULL.wide_brokers), "wide", wide.registering(FULL.wide_brokers), "CPU s"),
    Line(wide.asked(FULL.wide_brokers), "wide", wide.asked(FULL.wide_brokers), "MB"),
    Line(wide.lookup(FULL.wide_brokers), "wide", wide.lookup(FULL.wide_brokers), "CPU µs", (ROCKETNS, ASYNCIO)),
    *(Line(f"route lookup with {count:,} topics, 16 outstanding", "topics", topics.lookup(count, 16), "CPU µs")
      for count in (FULL.growing_topics[0], FULL.growing_topics[-1])),
]  # fmt: skip
NAMES = {ROCKETNS: "one reactor", REACTORS_2: "two reactors", ASYNCIO: "asyncio"}
TEXT = """\
One run of `make bench`: all servers on the same machine ({machine}), the same load on each in turn. Lookups
are of {topics:,} topics; ratios are median (least-greatest) of the rounds. What was done, what is missing and why, and
all other figures: [benchmarks/results/full.md](benchmarks/results/full.md).{reactors}"""


def section(results: Results) -> str:
    """What stands between the marks."""
    machine = ", ".join(results.machine[key] for key in ("processor", "cores") if key in results.machine)
    rows = [cells for line in LINES if (cells := line.cells(results))]
    plot = "![CPU time of a route lookup on each server](benchmarks/results/lookups.svg)"
    text = TEXT.format(machine=f"{machine} cores", topics=TOPICS, reactors=_second_reactor(results))
    return "\n\n".join([text, "\n".join(table(HEAD, 2, rows)), plot])


def _second_reactor(results: Results) -> str:
    """What it adds, which has no line of its own in the table."""
    record = results.find("reactors")
    row = record.find(reactors.WHAT, reactors.CAPACITY) if record else None
    ratios = row.ratios(REACTORS_2, ROCKETNS) if row else []
    return (
        f"\nWhere they have a core each, two reactors answer {spread(ratios)} times as much as one." if ratios else ""
    )


def replaced(readme: str, new: str) -> str:
    """The README with the new section. ValueError if the marks are not there once each."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the README needs {BEGIN} and {END}, once each")
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{new}\n{END}{rest.split(END)[1]}"


def write(results: Results) -> Path:
    """Put the section into the README."""
    README.write_text(replaced(README.read_text("utf-8"), section(results)), "utf-8")
    return README
