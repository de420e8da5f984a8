"""By how much the clocks of name servers may be off, after they were corrected.

Name servers that were observed from outside have no clock of their own here: the observer's clock gave all their times
(method OBSERVED). It may be off from the others, and never differs between two of them. When an observed change
happened is known up to the time between two looks. That is of each record (``*_early``), and comes on top of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.reading.clocks import HEARTBEATS, OBSERVED
from rocketns.journal.reading.looks import FAR_US
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US
from rocketns.pipeline.contract.times import DAY_US, HOUR_US

# An observer begins with the state of its own journal if that is not older than this, so a look may be that long ago.
LOOKS_APART_US = HOUR_US

Off = tuple[int, bool]  # off, shared


def off_by() -> Column:
    """A struct of rows of CLOCK_DAYS. ``off``: by how much the clock may be off, us. Heartbeats show an
    offset up to a multiple of their period. ``shared``: it is the observer's."""
    loosely = F.when(F.col("method") == OBSERVED, CLOCK_DOUBT_US).otherwise(F.lit(FAR_US))
    off = F.when(F.col("method") == HEARTBEATS, CLOCK_DOUBT_US).otherwise(F.coalesce("uncertainty", loosely))
    shared = F.coalesce(F.col("method") == OBSERVED, F.lit(False))
    return F.struct(off.cast("long").alias("off"), shared.alias("shared"))


def may_be_off(method: str, uncertainty: int | None) -> int:
    """The ``off`` of ``off_by`` of plain values."""
    if method == HEARTBEATS:
        return CLOCK_DOUBT_US
    if uncertainty is None:
        return CLOCK_DOUBT_US if method == OBSERVED else FAR_US
    return uncertainty


def between(one: Column, other: Column) -> Column:
    """By how much these two clocks may differ, us."""
    return F.when(one["shared"] & other["shared"], F.lit(0)).otherwise(one["off"] + other["off"]).cast("long")


def apart(clocks: Column) -> Column:
    """By how much two of these clocks may differ, us: of an array of ``off_by``, the sum of the two largest, where all
    that are shared count as one."""

    def offs(shared: bool) -> Column:
        return F.transform(F.filter(clocks, lambda clock: clock["shared"] == F.lit(shared)), lambda clock: clock["off"])

    observer = F.slice(F.sort_array(offs(True), asc=False), 1, 1)
    worst = F.slice(F.sort_array(F.concat(offs(False), observer), asc=False), 1, 2)
    total = F.aggregate(worst, F.lit(0).cast("long"), lambda sum_, one: sum_ + one)
    return F.when(F.size(offs(False)) > 0, total).otherwise(F.lit(0))


def widest(clock_days: DataFrame) -> int:
    """By how much two times of the same moment may differ at most on any day, us. A name server without a row on a day
    is unknown. With observed ones that is at least the time between two looks."""
    days: dict[str, dict[str, Off]] = defaultdict(dict)
    for row in clock_days.select("day", "ns", "method", "uncertainty").collect():
        off = may_be_off(row["method"], row["uncertainty"])
        days[row["day"]][row["ns"]] = off, row["method"] == OBSERVED
    names = {ns for known in days.values() for ns in known}
    looks = LOOKS_APART_US if any(shared for known in days.values() for _, shared in known.values()) else 0
    unknown = (FAR_US, False)
    found = (_apart(known.get(ns, unknown) for ns in names) for known in days.values())
    return looks + max(found, default=2 * FAR_US)


def _apart(clocks: Iterable[Off]) -> int:
    """``apart`` of plain values."""
    known = list(clocks)
    own = [off for off, shared in known if not shared]
    return sum(sorted([*own, max((off for off, shared in known if shared), default=0)])[-2:]) if own else 0


def off_by_day(rows: DataFrame, time: str, clock_days: DataFrame) -> DataFrame:
    """The rows with ``clocks`` (map of ns to ``off_by``) of the day of their ``time``; see ``off_of``."""
    on_day = F.broadcast(_by_day(clock_days))
    return rows.withColumn("day", F.expr(f"{time} div {DAY_US}")).join(on_day, "day", "left").drop("day")


def off_of(ns: Column) -> Column:
    """``off_by`` of the clock of a name server, of a row of ``off_by_day``."""
    clocks = F.coalesce("clocks", F.create_map().cast("map<string,struct<off:bigint,shared:boolean>>"))
    return F.coalesce(F.try_element_at(clocks, ns), unknown())


def unknown(off: int = FAR_US) -> Column:
    """``off_by`` of a clock of which nothing else is known."""
    return F.struct(F.lit(off).cast("long").alias("off"), F.lit(False).alias("shared"))


def _by_day(clock_days: DataFrame) -> DataFrame:
    """day (since the epoch), clocks. A day without an estimate has that of the day before; the records of a day's last
    file go beyond midnight."""
    known = F.map_from_entries(F.collect_list(F.struct("ns", off_by().alias("clock"))))
    days = clock_days.groupBy(F.unix_date(F.to_date("day")).cast("long").alias("day")).agg(known.alias("clocks"))
    until = F.coalesce(F.lead("day").over(Window.orderBy("day")) - 1, F.col("day") + 1)
    return days.withColumn("until", until).select(F.explode(F.sequence("day", "until")).alias("day"), "clocks")
