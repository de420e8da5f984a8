"""The audit of a folder with journals: the tables of its jobs, computed by their twins in DuckDB, and its incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from rocketns.pipeline.contract.defaults import MIN_WINDOW_US, SILENT_AFTER_US
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.incidents.listing import incidents_of
from rocketns.pipeline.incidents.model import Incident
from tests.pipeline.duck import brokers, divergence, ingest, state

Row = Mapping[str, Any]
DEPARTURES = ("broker", "cluster", "t1", "t2", "kind", "ns", "bids", "stalled", "t1_early", "asked")
INCIDENTS = ("cause", "broker", "t1", "t2", "windows", "topics", "user_topics", "topic_sample", "queues", "ns_without",
             "opened_by", "longest", "gap_max", "stalled", "doubt", "t1_early", "t2_early")  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Rows of the result tables, records of stalls and of members that are kept, and the list of incidents."""

    tables: Mapping[str, list[Row]]
    incidents: list[Incident]
    t0: int
    t1: int

    def __getitem__(self, name: str) -> list[Row]:
        return self.tables[name]


def audit(journal: Path) -> Found:
    """Everything from the first record to the last one, by clocks that are known to be right."""
    with duckdb.connect() as db:
        db.execute("set threads = 1")
        db.execute(f"create temp table all_events as {ingest.select_events(journal)}")
        found = db.execute("select min(ts), max(ts) + 1 from all_events").fetchone()
        assert found is not None
        t0, t1 = found
        _prepare(db, t0, t1)
        tables = {name: _rows(db, f"from {name}") for name in NAMES}
        tables["departures"] = _rows(db, brokers.DEPARTURES.format(t0=t0, t1=t1), DEPARTURES)
        tables["incidents"] = _rows(db, divergence.INCIDENTS, INCIDENTS)
        tables |= {name: _rows(db, sql) for name, sql in RECORDS.items()}
        tables["holes"] = _rows(db, state.MISSING.replace("$t0", str(t0)).replace("$t1", str(t1)), HOLES)
    listed = {name: Table.of(rows) for name, rows in tables.items()}
    return Found(tables, incidents_of(listed, t0, t1), t0, t1)


NAMES = ("ns_uptime", "broker_intervals", "topic_intervals", "topic_doubts", "key_windows")
HOLES = ("ns", "boot", "what", "n")
RECORDS = {
    "stalls": "select ns, boot, ts, ms from all_events where ev = 'stall'",
    "kept": "select ns, boot, ts, cluster, broker, bid, addr, doubt from all_events where ev = 'doubt'",
    "drops": "select ns, boot, ts, lost from all_events where ev = 'drop'",
}


def _prepare(db: duckdb.DuckDBPyConnection, t0: int, t1: int) -> None:
    state.prepare(db, t0, t1, SILENT_AFTER_US)
    db.execute("create temp view ns_uptime as from uptime")
    state.broker_intervals(db)
    state.topic_intervals(db)
    state.topic_doubts(db)
    db.execute(divergence.EXACT_CLOCKS)
    divergence.key_windows(db, MIN_WINDOW_US)


def _rows(db: duckdb.DuckDBPyConnection, sql: str, names: tuple[str, ...] = ()) -> list[Row]:
    """As mappings; ``names`` where the query has none of its own."""
    answer = db.execute(sql)
    assert answer.description is not None
    columns = names or tuple(column[0] for column in answer.description)
    return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]
