"""A name server that hears no broker keeps its known, empty table for as long as it shows a sign of life."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.quality import quality
from tests.pipeline.duck import divergence as duck_divergence
from tests.pipeline.duck.history import state as duck_state
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.jobs.history.test_quality import files_frame
from tests.pipeline.journals import SECOND, Broker, Journal, Journals, events_frame, topic

A = Broker("broker-a", "10.0.0.1:10911")
T = topic("T")
HOUR = 3_600
SILENT = 120 * SECOND


def deaf(*, alive: bool) -> Journals:
    """Both name servers hear the broker from 1 s on, n2 until 181 s; it drops it at 300 s. It ends at 3600 s."""
    n1, n2 = Journal(0, "n1"), Journal(0, "n2")
    for second in range(1, HOUR, 30):
        n1.register(second * SECOND, A, [T])
        if second <= 181:
            n2.register(second * SECOND, A, [T])
    n2.down(300 * SECOND, A, "expired")
    for second in range(360, HOUR, 60) if alive else ():
        n2.add(second * SECOND, "alive")
    return {"n1": n1.records, "n2": n2.records}


@pytest.mark.parametrize(
    ("alive", "end_cause", "window_s", "faults"), [(True, "open", 3_300, []), (False, "silent", 0, ["silent"])]
)
def test_55_minutes_without_brokers_are_one_window(
    spark: SparkSession, alive: bool, end_cause: str, window_s: int, faults: list[str]
) -> None:
    journals, seen = deaf(alive=alive), Observation(0, HOUR * SECOND)
    events = cut(events_frame(spark, journals))
    base = state.base(events, seen, keep=cut)
    assert [row[4] for row in rows(base.uptime)] == ["open", end_cause]
    topics = cut(state.topic_intervals(events, base, seen))
    windows = rows(key_windows(topics, base.uptime, seen, 1, keep=cut).select("t1", "t2"))
    assert [(t1 // SECOND, (t2 - t1) // SECOND) for t1, t2 in windows] == ([(300, window_s)] if window_s else [])
    assert [row[0] for row in rows(quality(events, files_frame(spark), base, seen))] == faults
    assert windows == duck_windows(journals, seen)


def duck_windows(journals: Journals, seen: Observation) -> list[tuple[int, ...]]:
    db = duck_events(journals)
    duck_state.prepare(db, *seen, SILENT)
    duck_state.broker_intervals(db)
    duck_state.topic_intervals(db)
    db.execute(duck_divergence.NO_DOUBTS)
    db.execute(duck_divergence.EXACT_CLOCKS)
    duck_divergence.key_windows(db, 1)
    return duck_rows(db, "select t1, t2 from key_windows")
