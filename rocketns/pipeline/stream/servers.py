"""Which name servers write, and the cut: the moment up to which all their journals have arrived.

Files of different name servers arrive at different times, so a batch is judged as of the cut, and records after it
wait. A name server whose journal lags behind the newest by more than the limit is called silent and not waited for, and
what it said last is not compared with anything until it is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import columns, conform

# One start of a name server. known: since when its whole state is known (its start, or the end of the first snapshot
# that lies whole in one batch), null before that. stopped: when it said so, null if it did not. compared: whether it
# was at the last cut. moved: whether a record is of routes.
BOOTS = columns("ns:string boot:long known:long stopped:long last:long compared:boolean moved:boolean")

# A batch may hold several restarts. Of a name server that starts more often in one, the older boots are left out.
BOOTS_KEPT = 16


class Boot(NamedTuple):
    """A row of BOOTS but for ``moved``; times are epoch us."""

    ns: str
    boot: int
    known: int | None
    stopped: int | None
    last: int
    compared: bool


class Uptime(NamedTuple):
    """A row of NS_UPTIME."""

    ns: str
    boot: int
    t1: int
    t2: int
    end_cause: str


class Fleet(NamedTuple):
    """The boots that matter from the last cut on, by name server and boot, and where this batch cuts."""

    boots: tuple[Boot, ...]
    silent: frozenset[str]
    before: int
    cut: int

    def current(self) -> dict[str, Boot]:
        """The last boot of each name server that began before the cut."""
        return {boot.ns: boot for boot in self.boots if boot.boot * 1000 < self.cut}

    def last(self) -> dict[str, Boot]:
        """The last boot of each name server."""
        return {boot.ns: boot for boot in self.boots}

    def compared(self) -> frozenset[tuple[str, int]]:
        """The boots whose state is known at the cut."""
        return frozenset((span.ns, span.boot) for span in self.uptime() if span.t2 == self.cut)

    @property
    def changed(self) -> bool:
        """Whether others are compared than at the last cut, or not all the time: then every route matters."""
        whole = all((span.t1, span.t2) == (self.before, self.cut) for span in self.uptime())
        return not whole or self.compared() != {(boot.ns, boot.boot) for boot in self.boots if boot.compared}

    def remembered(self) -> list[Boot]:
        """BOOTS for the next batch."""
        return [boot._replace(compared=(boot.ns, boot.boot) in self.compared()) for boot in self.boots]

    def uptime(self) -> list[Uptime]:
        """When the state of each name server was known, within [before, cut); nothing of one that is silent."""
        spans = []
        for boot, following in zip(self.boots, [*self.boots[1:], None], strict=True):
            lost = following is not None and following.ns == boot.ns
            end = boot.stopped if boot.stopped is not None else boot.last if lost else self.cut
            start = max(boot.known or self.before, self.before)
            if boot.known is not None and boot.ns not in self.silent and start < min(end, self.cut):
                cause = "stop" if boot.stopped is not None else "lost" if lost else "open"
                spans.append(Uptime(boot.ns, boot.boot, start, min(end, self.cut), cause))
        return spans


def boots_in(events: DataFrame) -> DataFrame:
    """BOOTS of the events alone."""
    told = events.groupBy("ns", "boot").agg(
        F.min(F.when(F.col("ev") == "start", F.col("ts"))).alias("begun"),
        F.max(F.when(F.col("ev") == "stop", F.col("ts"))).alias("stopped"),
        F.max("ts").alias("last"),
        F.max(F.col("topics").isNotNull()).alias("moved"),
        F.collect_set(F.when(F.col("part") == 0, F.col("snap"))).alias("firsts"),
        F.collect_set(F.when((F.col("ev") == "snap") & F.col("end"), F.struct("snap", "ts"))).alias("ends"),
    )
    whole = F.filter("ends", lambda end: F.array_contains("firsts", end.snap))
    known = F.coalesce("begun", F.array_min(F.transform(whole, lambda end: end.ts)))
    return conform(told.withColumns({"known": known, "compared": F.lit(False)}), BOOTS)


def fleet(remembered: Iterable[Boot], arrived: Iterable[Boot], before: int | None, silent_after_us: int) -> Fleet:
    """The fleet as of the new cut. ``before`` is the last cut, None in the first batch that has a record."""
    found = _united([*remembered, *arrived])
    boots = tuple(boot for boot in found.values() if not _is_past(boot, found))
    newest = max(boot.last for boot in boots)
    running = [boot for boot in _last_boots(boots).values() if boot.stopped is None]
    silent = frozenset(boot.ns for boot in running if newest - boot.last > silent_after_us)
    cut = min((boot.last for boot in running if boot.ns not in silent), default=newest)
    first = min((boot.known for boot in boots if boot.known is not None), default=cut)
    start = first if before is None else before
    return Fleet(boots, silent, start, max(cut, start))


def _united(boots: Iterable[Boot]) -> dict[tuple[str, int], Boot]:
    """One entry for each boot, in the order of name servers and boots."""
    found: dict[tuple[str, int], Boot] = {}
    for boot in boots:
        key = boot.ns, boot.boot
        found[key] = _merged(found[key], boot) if key in found else boot
    return dict(sorted(found.items()))


def _merged(one: Boot, other: Boot) -> Boot:
    def least(name: str) -> int | None:
        return min((value for value in (getattr(one, name), getattr(other, name)) if value is not None), default=None)

    return Boot(one.ns, one.boot, least("known"), least("stopped"), max(one.last, other.last), one.compared)


def _is_past(boot: Boot, found: Mapping[tuple[str, int], Boot]) -> bool:
    later = [number for ns, number in found if ns == boot.ns and number > boot.boot]
    return len(later) >= BOOTS_KEPT


def _last_boots(boots: Iterable[Boot]) -> dict[str, Boot]:
    return {boot.ns: boot for boot in boots}


def as_boot(row: Mapping[str, Any]) -> Boot:
    """A Boot from a collected row."""
    return Boot(*(row[name] for name in Boot._fields))


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of them holds; false of none."""
    return reduce(Column.__or__, conditions, F.lit(False))
