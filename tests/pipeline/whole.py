"""The findings of a whole run, to compare with those of the stream."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.state import base, topic_intervals
from tests.pipeline.frames import cut
from tests.pipeline.journals import Journals, events_frame

WINDOW = ("topic", "broker", "t1", "t2", "cause", "opened_by")
NEVER_SILENT = 2**50


def whole_windows(
    spark: SparkSession, journals: Journals, t0: int, t1: int
) -> set[tuple[str, str, int, int, str, str]]:
    """(topic, broker, t1, t2, cause, opened_by) of every window, however short."""
    events, seen = events_frame(spark, journals), Observation(t0, t1)
    known = base(events, seen, NEVER_SILENT, keep=cut)
    found = key_windows(cut(topic_intervals(events, known, seen)), known.uptime, seen, 1, keep=cut)
    return {tuple(row) for row in found.select(*WINDOW).collect()}
