"""`rocketns audit explain`: the route of a topic at a moment, in words, from the days of the journal around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.times import DAY_US, exact_text
from rocketns.pipeline.jobs.history.explain import routes_at
from rocketns.pipeline.jobs.history.state import topic_changes
from rocketns.pipeline.storage.events.lines import JOURNAL_FILES, parsed, records
from rocketns.pipeline.storage.events.listing import journal_files

Row = Mapping[str, Any]


def explained_route(spark: SparkSession, journal: str, topic: str, at: int) -> list[str]:
    """Lines for standard output. BadInput if there is no journal of that time."""
    if not any(_day(at - DAY_US) <= file.dt <= _day(at + DAY_US) for file in journal_files(spark, [journal]).closed):
        raise BadInput(f"{journal} has no file of the days around {exact_text(at)}")
    events = _around(spark, journal, at).cache()
    routes = [row.asDict(recursive=True) for row in routes_at(events, topic, at).orderBy("ns").collect()]
    since = {(row["ns"], row["broker"]): row["last"].asDict() for row in _told(events, topic, at).collect()}
    told = [f"{topic} at {exact_text(at)}, by each name server's own clock"]
    for route in routes:
        told += _server(route, since)
    return told


def _around(spark: SparkSession, journal: str, at: int) -> DataFrame:
    """EVENTS of three days: the day, the day before, which has hourly snapshots, and the day after, which shows whether
    a quiet name server was still up."""
    base = f"{journal.rstrip('/')}/v={VERSION}"
    read = records(spark.read, base).json(f"{base}/{JOURNAL_FILES}")
    return parsed(read.where(F.col("dt").between(_day(at - DAY_US), _day(at + DAY_US))))


def _told(events: DataFrame, topic: str, at: int) -> DataFrame:
    """ns, broker, last: the record that set the queues; a snapshot only if there is no other record."""
    naming = events.where((F.col("ts") <= at) & F.exists("topics", lambda entry: entry["t"] == topic))
    rows = topic_changes(naming, ("r",)).where(F.col("topic") == topic)
    order = F.struct(F.col("cause") != "snapshot", "boot", "seq")
    return rows.groupBy("ns", "broker").agg(F.max_by(F.struct("ts", "boot", "seq", "cause"), order).alias("last"))


def _server(route: Row, since: Mapping[tuple[str, str], Row]) -> Iterable[str]:
    if not route["known"]:
        return [f"{route['ns']}: not known: it was down, or its journal has nothing of that time"]
    if not route["queues"]:
        return [f"{route['ns']}: no route, it answered that the topic does not exist"]
    groups = {group["broker"]: group for group in route["groups"]}
    lines = [f"{route['ns']}:"]
    for queue in route["queues"]:
        record = since.get((route["ns"], queue["broker"]))
        addresses = ", ".join(f"{member['bid']} {member['addr']}" for member in groups[queue["broker"]]["addrs"])
        lines.append(
            f"  {queue['broker']}: {queue['r']} read queues, {queue['w']} write queues, perm {queue['p']}; {addresses}"
        )
        if record:
            lines.append(
                f"    since {exact_text(record['ts'])} ({record['cause']}; boot {record['boot']}, seq {record['seq']})"
            )
    return lines


def _day(at: int) -> str:
    return exact_text(max(at, 0))[:10]
