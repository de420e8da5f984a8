"""``python -m benchmarks.audit.engines ENGINE JOURNAL T0 T1``: reading, state and windows of a journal by Spark or by
DuckDB. DuckDB's SQL is the second version of these jobs, which the tests compare with. Prints the number of windows."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

from rocketns.pipeline.audit import LOCAL, QUIET
from rocketns.pipeline.divergence import MIN_WINDOW_US, key_windows
from rocketns.pipeline.ingest import ingest, read_events
from rocketns.pipeline.paths import Folder
from rocketns.pipeline.results import Results
from rocketns.pipeline.schema import Observation
from rocketns.pipeline.session import spark_session
from rocketns.pipeline.state import SILENT_AFTER_US, base, broker_intervals, topic_intervals
from tests.pipeline.duck import divergence as duck_divergence
from tests.pipeline.duck import state as duck_state
from tests.pipeline.duck.ingest import select_events


def by_spark(journal: str, seen: Observation) -> int:
    """With the settings of ``rocketns audit run``."""
    spark = spark_session("local[*]", settings=QUIET | LOCAL)
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as out:
        ingest(spark, journal, f"{out}/events")
        results, events = Results(spark, Folder(spark, out)), read_events(spark, f"{out}/events", seen)
        known = base(events, seen, keep=results.cut)
        members = results.keep("broker_intervals", broker_intervals(events, known, seen))
        views = results.keep("topic_intervals", topic_intervals(events, known, seen))
        found = key_windows(views, known.uptime, seen, MIN_WINDOW_US, members, results.cut)
        return results.keep("key_windows", found).count()


def by_duckdb(journal: str, seen: Observation) -> int:
    """With its defaults, in a database file, so that it can spill to disk."""
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as out:
        db = duckdb.connect(f"{out}/journal.duckdb")
        db.execute(f"create table all_events as {select_events(Path(journal))}")
        duck_state.prepare(db, *seen, SILENT_AFTER_US)
        duck_state.broker_intervals(db)
        duck_state.topic_intervals(db)
        duck_divergence.key_windows(db, MIN_WINDOW_US)
        rows = db.sql("select count(*) from key_windows").fetchall()
        return int(rows[0][0])


ENGINES = {"spark": by_spark, "duckdb": by_duckdb}

if __name__ == "__main__":
    name, folder, t0, t1 = sys.argv[1:]
    print(ENGINES[name](folder, Observation(int(t0), int(t1))))
