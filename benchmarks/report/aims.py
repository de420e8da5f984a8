"""What rocketns should reach beside the others, and whether it did."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, ROCKETNS, RUST
from benchmarks.parts import lookups, reactors, registering, start, storm, wide
from benchmarks.parts.memory import name as memory_of
from benchmarks.plan import FEW, FULL, TOPICS
from benchmarks.record import Record
from benchmarks.report.figures import NONE, figure, first_measured, spread, table
from benchmarks.report.store import Results

ONE, MAIN = (ROCKETNS, ASYNCIO), (REACTORS_2, ASYNCIO)


@dataclass(frozen=True)
class Aim:
    """A figure of ``over``, or the ratio of ``over`` to ``under``, and its limit. A tuple means the first of these
    servers that was measured."""

    text: str
    part: str
    what: str
    unit: str
    limit: float
    over: tuple[str, ...]
    under: tuple[str, ...] = ()
    at_least: bool = False

    def values(self, record: Record) -> list[float]:
        """One a round, sorted."""
        row = record.find(self.what, self.unit)
        over = first_measured(record, self.over)
        if row is None:
            return []
        if self.under:
            return row.ratios(over, first_measured(record, self.under))
        return sorted(value for value in row.values.get(over, []) if value is not None)

    @property
    def limit_text(self) -> str:
        unit = f" {self.unit}" if not self.under and self.unit != storm.RATIO else " times"
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{unit}"

    def verdict(self, values: list[float]) -> str:
        if not values:
            return "not measured"
        value = median(values)
        return "yes" if (value >= self.limit if self.at_least else value <= self.limit) else "no"


def _lookup_aims() -> list[Aim]:
    found = []
    for depth, encoding, least, java, rust in ((1, "json", 1.05, 5, 3.5), (16, "json", 1.3, 12, None),
                                               (16, "rocketmq", 1.3, 12, None)):  # fmt: skip
        where = ("lookups", lookups.name(FEW, encoding, depth), "CPU µs")
        of = f"{depth} outstanding, {'JSON' if encoding == 'json' else 'binary'} header"
        found.append(Aim(f"route lookup, {of}: rocketns / least possible", *where, least, ONE, (LEAST,)))
        found.append(Aim(f"route lookup, {of}: Java / rocketns", *where, java, (JAVA,), ONE, at_least=True))
        if rust:
            found.append(Aim(f"route lookup, {of}: Rust / rocketns", *where, rust, (RUST,), ONE, at_least=True))
    return found


def _registration_aims() -> list[Aim]:
    limits = {"changed": 3, "unchanged": 15, "changed, compressed": 5}
    return [
        Aim(f"registration of 10,000 topics, {kind}: Java / rocketns", "registering", registering.name(kind), "CPU ms",
            limit, (JAVA,), MAIN, at_least=True)
        for kind, limit in limits.items()
    ]  # fmt: skip


AIMS = [
    *_lookup_aims(),
    Aim("two reactors / one, where they have a core each", "reactors", reactors.WHAT, reactors.CAPACITY, 1.7,
        (REACTORS_2,), (ROCKETNS,), at_least=True),
    *_registration_aims(),
    Aim("route p99 during registrations / quiet", "storm", storm.STORM, storm.RATIO, 2, MAIN),
    Aim("resident memory, 1,000 topics", "memory", memory_of(TOPICS), "MB", 40, MAIN),
    Aim("resident memory, 300 brokers with 10,000 topics", "wide", wide.asked(FULL.wide_brokers), "MB", 200, MAIN),
    Aim("CPU to register 300 brokers with 10,000 topics", "wide", wide.registering(FULL.wide_brokers), "CPU s", 3,
        MAIN),
    Aim("route lookup of 300 brokers: Java / rocketns", "wide", wide.lookup(FULL.wide_brokers), "CPU µs", 10,
        (JAVA,), ONE, at_least=True),
    Aim("start to first answer", "start", start.WHAT, "ms", 300, MAIN),
]  # fmt: skip


def aims_table(results: Results) -> list[str]:
    """Lines of Markdown."""
    head = ["Figure", "Aim", "Measured", "Java's", "Reached"]
    return table(head, 1, [_row(aim, results.find(aim.part)) for aim in AIMS])


def _row(aim: Aim, record: Record | None) -> list[str]:
    values = aim.values(record) if record else []
    java = NONE
    if record and not aim.under and (row := record.find(aim.what, aim.unit)):
        java = figure(row.middle(JAVA))
    return [aim.text, aim.limit_text, spread(values), java, aim.verdict(values)]
