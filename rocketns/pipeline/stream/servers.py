"""Which name servers write, and the watermark: the moment up to which all their journals have arrived.

Files of different name servers arrive at different times. A batch is therefore evaluated as of the watermark, and
records after it wait. A name server whose journal lags behind the newest one by more than the limit, and by more than a
file that is not closed yet may hold, is called silent. The stream does not wait for it, and does not compare its last
state with anything until it is back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import columns, conform
from rocketns.pipeline.contract.terms import ROTATE_US, SECOND_US, UNWATCHED

# One start of a name server. known: from when on its whole state is known (its start, or the end of the first snapshot
# that is complete within one batch), null before that. stopped: time of its stop record, or null. compared: whether it
# was compared at the last watermark. moved: whether a record changes routes.
# rotate_s: as its `open` records say, or null. observed: it is an observer's, which watched the name server meanwhile.
# no_topics: and could not know its topics.
BOOTS = columns(
    "ns:string boot:long known:long stopped:long last:long compared:boolean rotate_s:long observed:boolean "
    "no_topics:boolean moved:boolean"
)

# Boots of a name server that are kept; if one batch holds more restarts, the older boots are left out.
BOOTS_KEPT = 16


class BootState(NamedTuple):
    """A row of BOOTS but for ``moved``; times are epoch us."""

    ns: str
    boot: int
    known: int | None
    stopped: int | None
    last: int
    compared: bool
    rotate_s: int | None = None
    observed: bool = False
    no_topics: bool = False


class Arriving(NamedTuple):
    """Records that may still arrive. ``pending``: name servers with more to read; ``opened``: name servers whose open
    file was read to its end, None for all."""

    pending: frozenset[str] = frozenset()
    opened: frozenset[str] | None = None

    def lag(self, boot: BootState) -> int:
        """How far behind its journal may be because of a file that is not closed yet, us."""
        if self.opened is None or boot.ns in self.opened:
            return 0
        return ROTATE_US if boot.rotate_s is None else boot.rotate_s * SECOND_US


ALL_READ = Arriving()


class Uptime(NamedTuple):
    """A row of NS_UPTIME."""

    ns: str
    boot: int
    t1: int
    t2: int
    end_cause: str
    observed: bool = False
    no_topics: bool = False


class Servers(NamedTuple):
    """The relevant boots since the last watermark, by name server and boot, and the watermark of this batch."""

    boots: tuple[BootState, ...]
    silent: frozenset[str]
    before: int
    watermark: int

    def current(self) -> dict[str, BootState]:
        """The last boot of each name server that began before the watermark."""
        return {boot.ns: boot for boot in self.boots if boot.boot * 1000 < self.watermark}

    def last(self) -> dict[str, BootState]:
        """The last boot of each name server."""
        return _last_boots(self.boots)

    def of_current(self, frame: DataFrame) -> DataFrame:
        """The rows (ns, boot, …) of the boots that run at the watermark: a name server starts with empty tables."""
        wanted = [(F.col("ns") == ns) & (F.col("boot") == boot.boot) for ns, boot in self.current().items()]
        return frame.where(any_of(wanted))

    def compared(self) -> frozenset[tuple[str, int]]:
        """The boots whose state is known at the watermark."""
        return frozenset((span.ns, span.boot) for span in self.uptime() if span.t2 == self.watermark)

    @property
    def changed(self) -> bool:
        """Whether the compared boots changed since the last watermark, or were down. Then every route counts."""
        whole = all((span.t1, span.t2) == (self.before, self.watermark) for span in self.uptime())
        return not whole or self.compared() != {(boot.ns, boot.boot) for boot in self.boots if boot.compared}

    def remembered(self) -> list[BootState]:
        """BOOTS for the next batch."""
        return [boot._replace(compared=(boot.ns, boot.boot) in self.compared()) for boot in self.boots]

    def uptime(self) -> list[Uptime]:
        """When the state of each name server was known, within [before, watermark); nothing of silent ones."""
        spans = []
        for boot, following in zip(self.boots, [*self.boots[1:], None], strict=True):
            lost = following is not None and following.ns == boot.ns
            end = boot.stopped if boot.stopped is not None else boot.last if lost else self.watermark
            start = max(boot.known or self.before, self.before)
            if boot.known is not None and boot.ns not in self.silent and start < min(end, self.watermark):
                cause = "stop" if boot.stopped is not None else "lost" if lost else "open"
                cause = UNWATCHED if boot.observed and cause != "open" else cause
                until = min(end, self.watermark)
                spans.append(Uptime(boot.ns, boot.boot, start, until, cause, boot.observed, boot.no_topics))
        return spans

    def uptime_since(self, start: int) -> list[Uptime]:
        """`uptime`, but from ``start`` on, before the last watermark, for name servers whose state was known then."""
        known = {(boot.ns, boot.boot) for boot in self.boots if boot.known is not None and boot.known <= start}
        return [span._replace(t1=start) if span.t1 == self.before and (span.ns, span.boot) in known else span
                for span in self.uptime()]  # fmt: skip


def boots_in(events: DataFrame) -> DataFrame:
    """BOOTS of the events alone."""
    with_routes = F.coalesce("restored", F.lit(False)) | F.coalesce("observed", F.lit(False))
    grouped = events.groupBy("ns", "boot").agg(
        F.min(F.when((F.col("ev") == "start") & ~with_routes, F.col("ts"))).alias("begun"),
        F.max(F.when(F.col("ev") == "stop", F.coalesce("since", "ts"))).alias("stopped"),
        F.max(F.coalesce("observed", F.lit(False)) | F.col("since").isNotNull()).alias("observed"),
        F.max(F.coalesce("no_topics", F.lit(False))).alias("no_topics"),
        F.max_by("ts", "seq").alias("last"),  # a stray time stamp before it does not count
        F.max_by("rotate_s", F.when(F.col("rotate_s").isNotNull(), F.col("seq"))).alias("rotate_s"),
        F.max(F.col("topics").isNotNull()).alias("moved"),
        F.collect_set(F.when(F.col("part") == 0, F.col("snap"))).alias("firsts"),
        F.collect_set(F.when((F.col("ev") == "snap") & F.col("end"), F.struct("snap", "ts"))).alias("ends"),
    )
    whole = F.filter("ends", lambda end: F.array_contains("firsts", end.snap))
    known = F.coalesce("begun", F.array_min(F.transform(whole, lambda end: end.ts)))
    return conform(grouped.withColumns({"known": known, "compared": F.lit(False)}), BOOTS)


def servers_at_watermark(
    remembered: Iterable[BootState],
    arrived: Iterable[BootState],
    before: int | None,
    silent_after_us: int,
    arriving: Arriving = ALL_READ,
) -> Servers:
    """The name servers as of the new watermark. ``before`` is the last one, None in the first batch with a record."""
    found = _united([*remembered, *arrived])
    boots = tuple(boot for boot in found.values() if not _is_past(boot, found))
    newest = max(boot.last for boot in boots)
    running = [boot for boot in _last_boots(boots).values() if boot.stopped is None]
    behind = [boot for boot in running if newest - boot.last > silent_after_us + arriving.lag(boot)]
    silent = frozenset(boot.ns for boot in behind) - arriving.pending
    watermark = min((boot.last for boot in running if boot.ns not in silent), default=newest)
    first = min((boot.known for boot in boots if boot.known is not None), default=watermark)
    start = first if before is None else before
    return Servers(boots, silent, start, max(watermark, start))


def _united(boots: Iterable[BootState]) -> dict[tuple[str, int], BootState]:
    """One entry for each boot, in the order of name servers and boots."""
    found: dict[tuple[str, int], BootState] = {}
    for boot in boots:
        key = boot.ns, boot.boot
        found[key] = _merged(found[key], boot) if key in found else boot
    return dict(sorted(found.items()))


def _merged(one: BootState, other: BootState) -> BootState:
    def least(name: str) -> int | None:
        return min((value for value in (getattr(one, name), getattr(other, name)) if value is not None), default=None)

    rotate_s = one.rotate_s if other.rotate_s is None else other.rotate_s
    observed, no_topics = one.observed or other.observed, one.no_topics or other.no_topics
    return BootState(one.ns, one.boot, least("known"), least("stopped"), other.last, one.compared, rotate_s, observed,
                no_topics)  # fmt: skip


def _is_past(boot: BootState, boots: Mapping[tuple[str, int], BootState]) -> bool:
    later = [number for ns, number in boots if ns == boot.ns and number > boot.boot]
    return len(later) >= BOOTS_KEPT


def _last_boots(boots: Iterable[BootState]) -> dict[str, BootState]:
    return {boot.ns: boot for boot in boots}


def as_boot(row: Mapping[str, Any]) -> BootState:
    """A Boot from a collected row."""
    return BootState(*(row[name] for name in BootState._fields))


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether any of them holds; false if there are none."""
    return reduce(Column.__or__, conditions, F.lit(False))
