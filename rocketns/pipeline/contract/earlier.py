"""What a run leaves behind for later ones: the closed days of a journal, computed as far as no later day can change it.

Each frame holds sums over closed days, or the few records of them that are still needed. A job joins them with the same
sums over the days that follow, so it need not read the closed days again. Times are corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.contract.schema import EVENTS, IMBALANCE, KEY_WINDOWS, TOPIC_SEGMENTS

# A stretch of one boot's records without a missing number, as far as one day's folder holds them: first and last
# number, their times, and the smallest and largest time; start and stop records in it (of an observer's stop its last
# look); observed: it is an observer's; no_topics: one that could not know topics.
RUNS = columns(
    "ns:string boot:long dt:string low:long high:long low_ts:long high_ts:long min_ts:long max_ts:long start_ts:long "
    "stop_ts:long restored:boolean observed:boolean no_topics:boolean"
)
# What one day's folder holds of a snapshot.
SNAPSHOT_PARTS = columns("ns:string boot:long dt:string snap:long first_part:int end_seq:long end_ts:long")
# closed, here and below: whether the row is about closed days. n: how many heartbeats of an address came gap_ms after
# the previous one.
GAPS = columns("ns:string broker:string bid:int addr:string gap_ms:long n:long closed:boolean")
# observed, members_early, topics_early: as in SOURCES.
COUNTS = columns(
    "ns:string events:long first:long last:long lost:long observed:boolean members_early:long topics_early:long "
    "closed:boolean"
)
# asked: rows with n > 0; inside: of the observation; t1: the beginning of the first interval; t2: the last record.
CALLERS = columns(
    "ns:string client:string lang:string cv:int topic:string asked:boolean inside:boolean n:long miss:long iv_ms:long "
    "t1:long t2:long closed:boolean"
)
# hour: since the epoch, of the interval's middle; ns: name servers with a miss.
HOURS = columns("topic:string hour:long miss:long n:long ns:strings closed:boolean")
# The first and the last record of the lookups of an hour.
COVERED = columns("ns:string hour:long first:long last:long closed:boolean")
# The first heartbeat of a broker and id at a name server (by) after the departure that began at d1.
HEARD = columns("cluster:string broker:string by:string bid:int d1:long ts:long closed:boolean")
# Topics with a window that is still open at the edge of the closed days. cut: when the first window began that
# overlaps it.
CUTS = columns("topic:string cut:long")

FRAMES = {
    "events": EVENTS, "runs": RUNS, "snapshot_parts": SNAPSHOT_PARTS, "gaps": GAPS, "counts": COUNTS,
    "callers": CALLERS, "hours": HOURS, "covered": COVERED, "heard": HEARD,
    "cuts": CUTS, "key_windows": KEY_WINDOWS, "topic_segments": TOPIC_SEGMENTS, "imbalance": IMBALANCE,
}  # fmt: skip


class Earlier(NamedTuple):
    """``day``: the last closed day (``dt``), empty if there is none; ``frames``: those of FRAMES, by name;
    ``mark``: that of jobs.earlier.settled.marks."""

    day: str
    frames: Mapping[str, DataFrame]
    mark: str = ""

    @classmethod
    def nothing(cls, spark: SparkSession) -> Earlier:
        """No day is closed."""
        return cls("", {name: frame_of(spark, [], schema) for name, schema in FRAMES.items()})
