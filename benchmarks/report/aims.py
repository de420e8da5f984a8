"""The figures that rocketns should reach beside the other servers, and whether it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.parts import lookups, reactors, registering, start, storm, tls, wide
from benchmarks.parts.memory import name as memory_of
from benchmarks.plan import DEPTHS, FEW, FULL, TOPICS
from benchmarks.record import Record
from benchmarks.report.figures import NONE, best, best_java, figure, quartiles, spread, table
from benchmarks.report.store import Results
from benchmarks.servers.kinds import DEFAULT, JAVAS, REACTORS_2, RUST, C

ROCKETNS = (DEFAULT,)
YES, NO, UNSURE, UNMEASURED = "yes", "no", "not shown", "not measured"


@dataclass(frozen=True)
class Aim:
    """A figure of ``over``, or the ratio of ``over`` to ``under``, and its limit. If several servers are named, the one
    that does best in the row counts."""

    text: str
    part: str
    what: str
    unit: str
    limit: float
    over: Sequence[str]
    under: Sequence[str] = ()
    at_least: bool = False

    def values(self, record: Record) -> list[float]:
        """One value for each round, sorted."""
        row = record.find(self.what, self.unit)
        if row is None:
            return []
        over = best(row, self.over)
        if self.under:
            return row.ratios(over, best(row, self.under))
        return sorted(value for value in row.values.get(over, []) if value is not None)

    @property
    def limit_text(self) -> str:
        unit = f" {self.unit}" if not self.under and self.unit not in (storm.RATIO, storm.RATIO_SENT) else " times"
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{unit}"

    def worse_quartile(self, values: Sequence[float]) -> float:
        """The quartile on the wrong side of the median."""
        lower, upper = quartiles(values)
        return lower if self.at_least else upper

    def verdict(self, values: Sequence[float]) -> str:
        """Reached if the median and the worse quartile both reach it. If only the median does, these rounds do not
        show it."""
        if not values:
            return UNMEASURED
        if not self._reaches(median(values)):
            return NO
        return YES if self._reaches(self.worse_quartile(values)) else UNSURE

    def _reaches(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


def _lookup_aims() -> Iterator[Aim]:
    for depth, encoding, c_server, java, rust in ((1, "json", 1.05, 5, 3.5), (16, "json", 1.3, 12, None),
                                                  (16, "rocketmq", 1.3, 12, None)):  # fmt: skip
        where = ("lookups", lookups.name(FEW, encoding, depth), "CPU µs")
        of = f"{depth} outstanding, {'JSON' if encoding == 'json' else 'binary'} header"
        yield Aim(f"CPU of a route lookup, {of}: rocketns / simple C server", *where, c_server, ROCKETNS, (C,))
        yield Aim(f"CPU of a route lookup, {of}: Java / rocketns", *where, java, JAVAS, ROCKETNS, at_least=True)
        if rust:
            yield Aim(f"CPU of a route lookup, {of}: Rust / rocketns", *where, rust, (RUST,), ROCKETNS, at_least=True)


def _tls_aims() -> Iterator[Aim]:
    for depth in DEPTHS:
        where, text = ("tls", tls.name(depth)), f"of a route lookup over TLS, {depth} outstanding"
        yield Aim(f"CPU {text}: rocketns / simple C server", *where, "CPU µs", 1.3, ROCKETNS, (C,))
        yield Aim(f"CPU {text}: Java / rocketns", *where, "CPU µs", 4, JAVAS, ROCKETNS, at_least=True)
    yield Aim(f"requests/s {text}: rocketns / Java", *where, "requests/s", 2, ROCKETNS, JAVAS, at_least=True)
    yield Aim(f"p99 {text}: Java / rocketns", *where, "p99 µs", 2, JAVAS, ROCKETNS, at_least=True)


def _registration_aims() -> Iterator[Aim]:
    for kind, limit in {"changed": 3, "unchanged": 15, "changed, compressed": 5}.items():
        yield Aim(f"CPU of a registration of 10,000 topics, {kind}: Java / rocketns", "registering",
                  registering.name(kind), "CPU ms", limit, JAVAS, ROCKETNS, at_least=True)  # fmt: skip


def _storm_aims() -> Iterator[Aim]:
    """At full rate with pinned processes only; at Java's rate also on any core. Latencies count from the time a lookup
    was due, and from the time it was sent; the difference is the load generator's wait for a core."""
    for rate, place in ((storm.AT_JAVAS_RATE, storm.ANYWHERE), (storm.AT_JAVAS_RATE, storm.PINNED),
                        (storm.FULL_RATE, storm.PINNED)):  # fmt: skip
        for unit, since in ((storm.RATIO, "due"), (storm.RATIO_SENT, "sent")):
            text = f"p99 of lookups from {since}, {rate} / quiet, {place}"
            yield Aim(text, "storm", storm.name(rate, place), unit, 2, ROCKETNS)


AIMS = [
    *_lookup_aims(),
    Aim("two reactors / one, where they have a core each", "reactors", reactors.WHAT, reactors.CAPACITY, 1.7,
        (REACTORS_2,), ROCKETNS, at_least=True),
    *_registration_aims(),
    *_storm_aims(),
    Aim("resident memory, 1,000 topics", "memory", memory_of(TOPICS), "MB", 40, ROCKETNS),
    Aim("resident memory, 300 brokers with 10,000 topics", "wide", wide.asked(FULL.wide_brokers), "MB", 200, ROCKETNS),
    Aim("CPU to register 300 brokers with 10,000 topics", "wide", wide.registering(FULL.wide_brokers), "CPU s", 3,
        ROCKETNS),
    Aim("CPU of a route lookup of 300 brokers: Java / rocketns", "wide", wide.lookup(FULL.wide_brokers), "CPU µs", 10,
        JAVAS, ROCKETNS, at_least=True),
    Aim("start to first answer", "start", start.WHAT, "ms", 300, ROCKETNS),
    *_tls_aims(),
]  # fmt: skip


def aims_table(results: Results) -> list[str]:
    """Lines of Markdown."""
    head = ["Figure", "Aim", "Measured", "Worse quartile", "Java's", "Reached"]
    return table(head, 1, [_row(aim, results.find(aim.part)) for aim in AIMS])


def _row(aim: Aim, record: Record | None) -> list[str]:
    values = aim.values(record) if record else []
    java, worse = NONE, figure(aim.worse_quartile(values)) if values else NONE
    if record and not aim.under and (row := record.find(aim.what, aim.unit)):
        java = figure(row.middle(best_java(row)))
    return [aim.text, aim.limit_text, spread(values), worse, java, aim.verdict(values)]
