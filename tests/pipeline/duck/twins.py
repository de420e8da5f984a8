"""The twin of each table of the catalogue, in one call: a finished run → the rows that DuckDB computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow

from rocketns.journal.reading.clockbounds import bounded_days
from rocketns.journal.reading.clockdays import Clocks, chained
from rocketns.journal.reading.clocks import estimates
from rocketns.pipeline.moment.recorded import Recorded
from tests.pipeline.duck import brokers, divergence, state, topics
from tests.pipeline.frames import duck_rows

Rows = list[tuple[Any, ...]]
MODEL = ("topic", "t1", "t2", "strategy", "c", "queues",
         "orphaned_mean", "orphaned_max", "dup_mean", "dup_max",
         "orphaned_qs_mean", "orphaned_qs_max", "dup_qs_mean", "dup_qs_max")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A finished run: its result tables, its input, and its parameters by the names that the SQL uses."""

    tables: Mapping[str, pyarrow.Table]
    raw_events: pyarrow.Table
    files: pyarrow.Table
    parameters: Mapping[str, Any]

    @property
    def last_day(self) -> str:
        return str(max(self.raw_events["dt"].to_pylist()))

    def events_only(self) -> duckdb.DuckDBPyConnection:
        """A database with ``files`` and ``all_events``, whose times are corrected."""
        db = duckdb.connect()
        db.register("raw", self.raw_events)
        db.register("files", self.files)
        db.register("offsets", self.tables["clock_offsets"])
        shifted = 'select r.* replace (r.ts - coalesce(o."offset", 0) as ts) from raw r left join offsets o using (ns)'
        db.execute(f"create temp table all_events as {shifted}")
        return db

    def with_tables(self) -> duckdb.DuckDBPyConnection:
        """The same with ``events`` and every result table."""
        db = self.events_only()
        db.execute("create temp table events as select * from all_events")
        for name, table in self.tables.items():
            db.register(name, table)
        return db

    def prepared(self) -> duckdb.DuckDBPyConnection:
        """A database with the state that DuckDB computes itself, from the events alone."""
        db, asked = self.events_only(), self.parameters
        state.prepare(db, asked["t0"], asked["t1"], asked["silent"])
        state.broker_intervals(db)
        state.topic_intervals(db)
        state.topic_doubts(db)
        db.register("clock_offsets", self.tables["clock_offsets"])
        return db


@dataclass(frozen=True)
class Twin:
    """``rows`` computes the table. ``columns``: those that the twin has, all if empty; ``kept``: rows of ours that it
    is compared with."""

    rows: Callable[[Run], Rows]
    columns: tuple[str, ...] = ()
    kept: Callable[[Mapping[str, Any]], bool] = lambda _row: True


def from_tables(sql: str) -> Twin:
    """SQL over the run's result tables and events."""
    return Twin(lambda run: duck_rows(run.with_tables(), sql.format(**run.parameters)))


def from_state(sql: str) -> Twin:
    """SQL over the state that DuckDB computed itself."""
    return Twin(lambda run: duck_rows(run.prepared(), sql))


def with_windows(sql: str) -> Twin:
    """SQL over the windows that DuckDB computed itself."""

    def rows(run: Run) -> Rows:
        db = run.prepared()
        divergence.key_windows(db, run.parameters["min_window"])
        return duck_rows(db, sql)

    return Twin(rows)


def _clock_days(run: Run) -> Rows:
    """By the plain reader, which test_clocks.py holds to clocks that are known. A record is of its file's first day."""
    recorded, opened = Recorded(), dict[str, str]()
    for record in run.raw_events.to_pylist():
        if record["ev"] == "open":
            opened[record["ns"]] = record["dt"]
        recorded.add([record | {"dt": opened[record["ns"]]}], "T", 0)
    told = recorded.sorted()
    days = bounded_days(chained(estimates(told.days, told.shown(), told.heard), Clocks()).days, None)
    return sorted((tuple(day) for day in days), key=repr)


def _quality(run: Run) -> Rows:
    db = run.prepared()
    queries = [state.QUALITY, state.MISSING]
    for name in ("t0", "t1", "silent"):
        queries = [query.replace(f"${name}", str(run.parameters[name])) for query in queries]
    faults = [(kind, ns, boot, n) for kind, ns, boot, _, _, n in duck_rows(db, queries[0])]
    holes = [("hole", ns, boot, n) for ns, boot, _, n in duck_rows(db, queries[1])]
    return sorted([*faults, *holes], key=repr)


TWINS: Mapping[str, Twin] = {
    "key_windows": with_windows("from key_windows"),
    "incidents": Twin(lambda run: duck_rows(run.with_tables(), divergence.INCIDENTS)),
    "topic_segments": with_windows(divergence.SEGMENTS),
    "group_members": from_tables(topics.MEMBERS),
    "impact": Twin(from_tables(topics.IMPACT).rows, MODEL, lambda row: row["assignments"] == "model"),
    "imbalance": from_tables(topics.IMBALANCE),
    "departures": from_tables(brokers.DEPARTURES),
    "broker_load": from_tables(topics.LOAD),
    "broker_stats": from_tables(brokers.STATS),
    "ns_uptime": from_state("from uptime"),
    "broker_intervals": from_state("from broker_intervals"),
    "topic_intervals": from_state("from topic_intervals"),
    "topic_doubts": from_state("from topic_doubts"),
    "topic_days": from_tables(topics.DAYS),
    "topic_inventory": from_tables(topics.INVENTORY),
    "uncovered_days": from_tables(topics.UNCOVERED),
    "dead_topics": from_tables(topics.DEAD),
    "hot_topics": from_tables(topics.HOT),
    "skew": from_tables(topics.SKEW),
    "missing_topics": from_tables(topics.MISSING),
    "clients": from_tables(topics.CLIENTS),
    "client_census": from_tables(topics.CENSUS),
    "missing_askers": from_tables(topics.ASKERS),
    "availability": from_tables(brokers.AVAILABILITY),
    "sole_topics": from_tables(topics.SOLE),
    "blast_radius": from_tables(topics.RADIUS),
    "storm_registrations": from_tables(brokers.REGISTRATIONS),
    "storms": from_tables(brokers.STORMS),
    "ordered_keys": from_tables(topics.ORDERED),
    "growth": from_tables(topics.GROWTH),
    "growth_limits": from_tables(topics.LIMITS),
    "admin_changes": from_tables(brokers.CHANGES),
    "refused_requests": from_tables(brokers.REFUSED),
    "new_addresses": from_tables(brokers.ADDRESSES),
    "clock_days": Twin(_clock_days),
    "clock_offsets": Twin(lambda run: [row[1:] for row in _clock_days(run) if row[0] == run.last_day]),
    "sources": from_tables(brokers.SOURCES),
    "quality": Twin(_quality, ("kind", "ns", "boot", "n")),
}


def same(ours: Sequence[tuple[Any, ...]], theirs: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the rows are equal, floating point numbers to 12 digits; the order of both is that of their values."""
    return [_rounded(row) for row in ours] == [_rounded(row) for row in theirs]


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_digits(value) if isinstance(value, float) else value for value in row)


def _digits(value: float) -> float:
    return value if value == 0 or not math.isfinite(value) else round(value, 11 - math.floor(math.log10(abs(value))))
