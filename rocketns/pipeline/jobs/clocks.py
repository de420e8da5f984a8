"""What the clocks of a run are judged by (``pipeline.clocks``), events by the reference's clock, and by how much clocks
may be off after that.

A clock that drifts within a day by more than the shortest window shows up as jitter and as ``spread``. Name servers
that were watched from outside have no clock of their own here: the observer's clock gave all their times. It may be off
from the others, and never differs between two of them. When an observed change happened is known up to the time between
two looks. That is of each record (``*_early``), and comes on top of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import DATA_VERSION, MEMBER
from rocketns.pipeline.clocks import OBSERVED, ClockDay, Server, clock_rows
from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.contract.terms import CLOCK_DOUBT_US, DAY_US, EPOCH

FRESH_MS = 60_000  # after a longer silence a version may be older than the heartbeat that names it
SAMPLES_MAX = 20_000


def clock_days(raw_events: DataFrame, within: int | None = None) -> list[Row]:
    """CLOCK_DAYS of EVENTS. ``within``: by how much clocks differ at most (--clocks, us)."""
    servers: defaultdict[str, dict[str, Server]] = defaultdict(dict)
    for row in _servers(raw_events).collect():
        servers[row["dt"]][row["ns"]] = Server(row["observed"], row["heard"])
    samples: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
    for row in _samples(raw_events).collect():
        samples[row["dt"]].append({one["ns"]: one["ts"] for one in row["firsts"]})
    days = (ClockDay(dt, known, samples[dt]) for dt, known in servers.items())
    return [dict(zip(CLOCK_DAYS.names, row, strict=True)) for row in clock_rows(days, within)]


def corrected(events: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The events with ``ts`` and ``since`` converted to the reference's clock, by CLOCK_DAYS."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    joined = events.join(of_days, ["dt", "ns"], "left")

    def shifted(name: str) -> Column:
        return (F.col(name) - F.coalesce("offset", F.lit(0))).alias(name)

    return joined.select(*[shifted(name) if name in ("ts", "since") else F.col(name) for name in events.columns])


def _servers(events: DataFrame) -> DataFrame:
    """dt, ns, observed, heard."""
    watched = F.coalesce("observed", F.lit(False)) | F.col("since").isNotNull()
    heard = F.count_if(F.col("ev").isin("reg", "hb") & F.col("since").isNull())
    return events.groupBy("dt", "ns").agg(F.max(watched).alias("observed"), heard.alias("heard"))


def _samples(events: DataFrame) -> DataFrame:
    """dt, firsts (ns, ts): the first heartbeats of versions that several name servers heard. The first one of a broker
    on a day may be of any age, and does not count."""
    of_broker, version = ("dt", "ns", *MEMBER), (*MEMBER, *DATA_VERSION)
    signs = events.where(F.col("ev").isin("reg", "hb") & F.col("since").isNull() & F.col("dvc").isNotNull())
    firsts = signs.groupBy(*of_broker, *DATA_VERSION).agg(F.min("ts").alias("ts"), F.min_by("gap", "ts").alias("gap"))
    earliest = F.min("ts").over(Window.partitionBy(*of_broker))
    fresh = firsts.withColumn("earliest", earliest).where(
        (F.col("ts") > F.col("earliest")) & (F.col("gap") <= FRESH_MS)
    )
    heard = fresh.groupBy("dt", *version).agg(F.collect_list(F.struct("ns", "ts")).alias("firsts"))
    some = heard.where(F.size("firsts") > 1).orderBy(F.xxhash64("dt", *version)).limit(SAMPLES_MAX)
    return some.select("dt", "firsts")


# By how much a clock may be off, us, and whether it is the observer's, which all that were observed share.
Off = tuple[int, bool]


def may_be_off(uncertainty: int | None) -> int:
    """By how much a clock with this ``uncertainty`` of CLOCK_DAYS may be off, us."""
    return CLOCK_DOUBT_US if uncertainty is None else uncertainty


class Clocks:
    """By how much clocks may be off, by rows of CLOCK_DAYS. Plain values."""

    def __init__(self, clock_days: Iterable[Row]) -> None:
        self.days: defaultdict[int, dict[str, Off]] = defaultdict(dict)
        for row in clock_days:
            day = (date.fromisoformat(row["day"]) - EPOCH.date()).days
            self.days[day][row["ns"]] = may_be_off(row["uncertainty"]), row["method"] == OBSERVED

    def off(self, ns: str, time: int) -> Off:
        """A name server's clock at that time, us. A day without an estimate has that of the day before; the records of
        a day's last file go beyond midnight."""
        day = time // DAY_US
        known = max((one for one in self.days if one <= day), default=None)
        if known is None or (day > known + 1 and known == max(self.days)):
            return UNKNOWN
        return self.days[known].get(ns, UNKNOWN)


UNKNOWN: Off = (CLOCK_DOUBT_US, False)


def may_differ(one: Off, other: Off) -> int:
    """By how much these two clocks may differ, us."""
    return 0 if one[1] and other[1] else one[0] + other[0]


def widest(clock_days: Iterable[Row]) -> int:
    """By how much two clocks may differ at most on any day of CLOCK_DAYS, us. A name server without a row on a day is
    unknown."""
    days = Clocks(clock_days).days
    names = {ns for known in days.values() for ns in known}
    found = (apart(known.get(ns, UNKNOWN) for ns in names) for known in days.values())
    return max(found, default=2 * CLOCK_DOUBT_US)


def apart(clocks: Iterable[Off]) -> int:
    """By how much two of these clocks may differ, us: the sum of the two largest, where all that are shared count as
    one."""
    known = list(clocks)
    own = [off for off, shared in known if not shared]
    return sum(sorted([*own, max((off for off, shared in known if shared), default=0)])[-2:]) if own else 0
