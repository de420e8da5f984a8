"""The findings of a whole run, to compare with those of the stream."""

from __future__ import annotations

from unittest import mock

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history import state
from tests.pipeline.frames import cut
from tests.pipeline.journals import Journals, events_frame

WINDOW = ("topic", "broker", "t1", "t2", "cause", "opened_by")
NEVER_SILENT = 2**50


def whole_windows(
    spark: SparkSession, journals: Journals, t0: int, t1: int
) -> set[tuple[str, str, int, int, str, str]]:
    """(topic, broker, t1, t2, cause, opened_by) of every window, however short."""
    events, seen = events_frame(spark, journals), Observation(t0, t1)
    with mock.patch.object(state, "SILENT_AFTER_US", NEVER_SILENT):
        known = state.base(events, seen, keep=cut)
    found = key_windows(cut(state.topic_intervals(events, known, seen)), known.uptime, seen, 1, keep=cut)
    return {tuple(row) for row in found.select(*WINDOW).collect()}
