"""``python -m benchmarks.audit.engines ENGINE JOURNAL T0 T1``: reading, state and windows of a journal by Spark or by
DuckDB. DuckDB's SQL is the second version of these jobs, which the tests compare with. Prints the number of windows."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

from rocketns.pipeline.cli.spark import LOCAL, QUIET, is_short
from rocketns.pipeline.contract.defaults import MIN_WINDOW_US, SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.state import base, broker_intervals, topic_intervals
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.session import spark_session
from tests.pipeline.duck import divergence as duck_divergence
from tests.pipeline.duck.history import state as duck_state
from tests.pipeline.duck.ingest import select_events


def by_spark(journal: str, observation: Observation) -> int:
    """With the settings of ``rocketns audit run``."""
    spark = spark_session("local[*]", settings=QUIET | LOCAL, short=is_short(journal))
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as out:
        ingest(spark, journal, f"{out}/events")
        results, events = Results(spark, folder_at(spark, out)), read_events(spark, f"{out}/events", observation)
        known = base(events, observation, keep=results.checkpoint)
        members = results.save("broker_intervals", broker_intervals(events, known, observation))
        views = results.save("topic_intervals", topic_intervals(events, known, observation))
        found = key_windows(views, known.uptime, observation, MIN_WINDOW_US, members, results.checkpoint)
        return results.save("key_windows", found).count()


def by_duckdb(journal: str, observation: Observation) -> int:
    """With its defaults, in a database file, so that it can spill to disk."""
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as out:
        db = duckdb.connect(f"{out}/journal.duckdb")
        db.execute(f"create table all_events as {select_events(Path(journal))}")
        duck_state.prepare(db, *observation, SILENT_AFTER_US)
        duck_state.broker_intervals(db)
        duck_state.topic_intervals(db)
        for nothing in (duck_divergence.NO_DOUBTS, duck_divergence.EXACT_CLOCKS):
            db.execute(nothing)
        duck_divergence.key_windows(db, MIN_WINDOW_US)
        rows = db.sql("select count(*) from key_windows").fetchall()
        return int(rows[0][0])


ENGINES = {"spark": by_spark, "duckdb": by_duckdb}

if __name__ == "__main__":
    name, folder, t0, t1 = sys.argv[1:]
    print(ENGINES[name](folder, Observation(int(t0), int(t1))))
