"""What the clocks of a run are estimated from, and events by the reference's clock.

Spark picks the few records that tell something, day by day; ``pipeline.clocks.estimates`` judges them, as ``explain``
does:

- the first heartbeat of each data version, of at most MEMBERS_MAX members that most name servers mention;
- where versions do not tell the offset of a name server, its heartbeats and those of the reference;
- of name servers that were observed from outside, changes that both sides saw (``pipeline.clocks.looks``).

Each day of the journal has its own estimate, from its own records; ``pipeline.clocks.days`` makes the offsets of a run
of days from them. A clock that drifts within a day by more than the shortest window shows up as jitter and as
``spread``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.lines import Record
from rocketns.journal.record import DATA_VERSION, MEMBER
from rocketns.pipeline.clocks.bounds import bounded_days
from rocketns.pipeline.clocks.days import Clocks, accepted, chained
from rocketns.pipeline.clocks.estimates import MEMBERS_MAX, SHOWS_OBSERVED, Heard, of_day
from rocketns.pipeline.clocks.looks import LEFT, SENT_TO_ALL, TOPICS_MAX
from rocketns.pipeline.contract.frames import Keep, as_it_is, columns, frame_of
from rocketns.pipeline.contract.schema import CLOCK_DAYS

DAY = "dt"
# Days whose heartbeats are in memory at the same time: some 100,000 of a day and three name servers.
DAYS_AT_ONCE = 4
REFERENCES = columns("dt:string reference:string")

Row = dict[str, Any]
Servers = dict[str, bool]  # by name: whether it was observed


def estimates(raw_events: DataFrame, hold: Keep = as_it_is) -> list[Row]:
    """The rows of ``pipeline.clocks.estimates.of_day`` for each day of EVENTS. ``hold`` is called on a frame of few
    rows that others are built on."""
    days: dict[str, Servers] = defaultdict(dict)
    for row in _servers(raw_events).collect():
        days[row[DAY]][row["ns"]] = row["observed"]
    members = hold(_members(raw_events))
    firsts = _by_day(_first_heartbeats(_sampled(raw_events, members)))
    heard = {dt: Heard(_counts(firsts.get(dt, ())), firsts.get(dt, ())) for dt in days}
    watched = [dt for dt, servers in days.items() if any(servers.values())]
    found: list[Row] = []
    for dt, changes in _in_steps(watched, lambda some: _changes(raw_events, members, _references(heard, some))):
        heard[dt] = heard[dt]._replace(changes=changes)
    unsure = []
    for dt, one in sorted(heard.items()):
        rows = of_day(dt, days[dt], one)
        if all(map(_is_known, rows)):
            found += rows
        else:
            unsure.append(dt)
    for dt, beats in _in_steps(unsure, lambda some: _beats(_sampled(raw_events, members), some)):
        found += of_day(dt, days[dt], heard[dt]._replace(beats=beats))
    return found


def clock_days(raw_events: DataFrame, clocks_within_us: int | None = None, hold: Keep = as_it_is) -> DataFrame:
    """CLOCK_DAYS of EVENTS. ``clocks_within_us``: by how much clocks differ at most, as the operator says."""
    days = bounded_days(chained(estimates(raw_events, hold), Clocks()).days, clocks_within_us)
    return frame_of(raw_events.sparkSession, days, CLOCK_DAYS)


def corrected(events: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The events with ``ts`` and ``since`` converted to the reference's clock, by CLOCK_DAYS."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias(DAY), "ns", "offset"))
    joined = events.join(of_days, [DAY, "ns"], "left")

    def shifted(name: str) -> Column:
        return (F.col(name) - F.coalesce("offset", F.lit(0))).alias(name)

    return joined.select(*[shifted(name) if name in ("ts", "since") else F.col(name) for name in events.columns])


def _is_known(row: Row) -> bool:
    """Whether heartbeats would add nothing."""
    observed_or_reference = row["observed"] or row["reference"] in (None, row["ns"])
    return observed_or_reference or (row["method"] is not None and accepted(row))


def _in_steps(
    days: Sequence[str], read: Callable[[Sequence[str]], DataFrame]
) -> Iterator[tuple[str, Sequence[Record]]]:
    """Each of the days with its rows of what ``read`` makes of some of them."""
    in_order = sorted(days)
    for begin in range(0, len(in_order), DAYS_AT_ONCE):
        some = in_order[begin : begin + DAYS_AT_ONCE]
        rows = _by_day(read(some))
        yield from ((dt, rows.get(dt, ())) for dt in some)


def _counts(firsts: Iterable[Record]) -> Mapping[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for row in firsts:
        counts[row["ns"]] += row["count"]
    return counts


def _by_day(frame: DataFrame) -> dict[str, list[Record]]:
    rows = sorted(frame.toArrow().to_pylist(), key=itemgetter(DAY))
    return {dt: list(same) for dt, same in groupby(rows, itemgetter(DAY))}


def _servers(events: DataFrame) -> DataFrame:
    """DAY, ns, observed: whether records of the day say that it was observed."""
    watched = F.col("ev").isin(*SHOWS_OBSERVED) & (F.coalesce("observed", F.lit(False)) | F.col("since").isNotNull())
    return events.groupBy(DAY, "ns").agg(F.max(watched).alias("observed"))


def _members(events: DataFrame) -> DataFrame:
    """The members that most name servers mention on a day in registrations, downs and snapshots. Such records are few,
    so this is cheap."""
    in_order = Window.partitionBy(DAY).orderBy(F.col("servers").desc(), *MEMBER)
    return (
        events.where(F.col("ev").isin("reg", "down", "snap") & F.col("addr").isNotNull())
        .groupBy(DAY, *MEMBER)
        .agg(F.count_distinct("ns").alias("servers"))
        .withColumn("place", F.row_number().over(in_order))
        .where(F.col("place") <= MEMBERS_MAX)
        .select(DAY, *MEMBER)
    )


def _sampled(events: DataFrame, members: DataFrame) -> DataFrame:
    """The registrations and heartbeats of the ``members``, as name servers wrote them."""
    heard = events.where(F.col("ev").isin("reg", "hb") & F.col("since").isNull())
    return heard.join(F.broadcast(members), [DAY, *MEMBER], "left_semi")


def _first_heartbeats(sampled: DataFrame) -> DataFrame:
    """Per day, name server, member and version: the first record's ts and the gap before it, and the count of all."""
    return sampled.groupBy(DAY, "ns", *MEMBER, *DATA_VERSION).agg(
        F.min("ts").alias("ts"), F.min_by("gap", "ts").alias("gap"), F.count("*").alias("count")
    )


def _beats(sampled: DataFrame, days: Sequence[str]) -> DataFrame:
    return sampled.where(F.col(DAY).isin(*days) & (F.col("ev") == "hb")).select(DAY, "ns", "ev", *MEMBER, "ts", "gap")


def _references(heard: Mapping[str, Heard], days: Sequence[str]) -> list[tuple[str, str | None]]:
    return [(dt, heard[dt].reference) for dt in days]


def _changes(events: DataFrame, members: DataFrame, references: Sequence[tuple[str, str | None]]) -> DataFrame:
    """Changes of members and of few topics: what an observer saw, and what brokers sent to the reference."""
    of_days = F.broadcast(frame_of(events.sparkSession, references, REFERENCES))
    few = (F.col("ev") == "tput") & F.coalesce(F.size("topics").between(1, TOPICS_MAX), F.lit(False))
    member = F.col("ev").isin("reg", "down")
    to_all = few & F.col("cause").isin(*SENT_TO_ALL)
    told = (F.col("ev") == "reg") | ((F.col("ev") == "down") & (F.col("cause") == LEFT)) | to_all
    of_reference = F.col("since").isNull() & (F.col("ns") == F.col("reference")) & told
    seen = F.col("since").isNotNull() & (few | member)
    is_sampled = F.broadcast(members.withColumn("sampled", F.lit(True)))
    return (
        events.where(few | member)
        .join(of_days, DAY, "inner")
        .where(of_reference | seen)
        .join(is_sampled, [DAY, *MEMBER], "left")
        .where((F.col("ev") == "tput") | F.col("sampled"))
        .select(DAY, "ns", "boot", "seq", "ev", "ts", "since", "cause", *MEMBER, "topics")
    )
