"""The routes of each name server, and the windows in which they disagree, updated from watermark to watermark.

Windows come from the same job as in a whole run, applied to the time between two cuts. Windows that were open at the
first watermark are continued. The result is the windows of a whole run, wherever the journals were cut.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.frames import Keep, Observation, as_it_is, columns, conform, frame_of
from rocketns.pipeline.contract.schema import KEY_WINDOWS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.intervals import intervals
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE, topic_changes
from rocketns.pipeline.stream.servers import Servers

# A window is kept for this time after its end, so windows that begin soon after it join its incident.
REMEMBERED_US = 60_000_000

# A topic's queues on a broker at a name server, as of the watermark; seq and cause: of the record that set them.
ROUTES = columns("ns:string boot:long seq:long topic:string broker:string r:int w:int p:int cause:string")
# t2 is null while the window is open.
WINDOWS = StructType([*KEY_WINDOWS.fields])


def remembered_and_new(remembered: DataFrame, events: DataFrame) -> DataFrame:
    """ns, boot, seq, ts, early, topic, broker, value (r, w, p; null: gone), cause. Remembered values have no ts."""
    value = F.struct(*VALUE)
    nothing = F.lit(None).cast("long")
    old = remembered.select(
        "ns", "boot", "seq", nothing.alias("ts"), nothing.alias("early"), *TOPIC, value.alias("value"), "cause"
    )
    new = topic_changes(events)
    return old.unionByName(new.select("ns", "boot", "seq", "ts", "early", *TOPIC, "value", "cause"))


def routes_at(values: DataFrame, servers: Servers) -> DataFrame:
    """ROUTES as of the watermark, of the last boot of each name server."""
    last = F.max_by(F.struct("seq", "value", "cause"), F.col("seq")).alias("last")
    return conform(
        servers.of_current(values).groupBy("ns", "boot", *TOPIC).agg(last).where("last.value is not null")
        .select("ns", "boot", *TOPIC, "last.seq", "last.value.*", "last.cause"),
        ROUTES,
    )  # fmt: skip


def windows_between(values: DataFrame, before: DataFrame, servers: Servers, hold: Keep = as_it_is) -> DataFrame:
    """WINDOWS that were open between the last watermark and this one, and recently ended windows of ``before``.

    The moment before the last watermark counts, too, because what happened at it is seen only now. ``hold`` is called
    on frames that are used several times, and mostly have few rows.
    """
    start, spark = servers.before - 1, values.sparkSession
    uptime = frame_of(spark, [tuple(span) for span in servers.uptime_since(start)], NS_UPTIME)
    touched = values.where("ts is not null").select(*TOPIC).unionByName(before.where("t2 is null").select(*TOPIC))
    looked_at = values if servers.changed else values.join(touched.distinct(), [*TOPIC], "left_semi")
    shown = hold(intervals_since(start, looked_at, uptime))
    found = hold(key_windows(shown, uptime, Observation(start, servers.watermark), 1, keep=hold))
    ended = F.when(F.col("t2") < servers.watermark, F.col("t2"))
    later = found.where(F.col("t1") > start).withColumn("t2", ended)
    opened, over = before.where("t2 is null"), remembered(before.where("t2 is not null"), servers)
    first = found.where(F.col("t1") == start).withColumn("t1", F.lit(servers.before))
    return conform(_continued(first, opened, servers).unionByName(later).unionByName(over), WINDOWS)


def remembered(windows: DataFrame, servers: Servers) -> DataFrame:
    """The WINDOWS that are open or ended recently."""
    return windows.where(F.col("t2").isNull() | (F.col("t2") > servers.watermark - REMEMBERED_US))


def _continued(first: DataFrame, opened: DataFrame, servers: Servers) -> DataFrame:
    """Windows that touch the last watermark. A window that was open before it keeps its beginning; an open one that is
    not found again ended at the watermark."""
    new = first.select(*TOPIC, F.struct(*WINDOWS.names).alias("new"))
    both = new.join(opened.select(*TOPIC, F.struct(*WINDOWS.names).alias("old")), [*TOPIC], "full")
    begun = F.coalesce("old", "new")
    ended = F.when(F.col("new").isNull(), F.lit(servers.before)).when(
        F.col("new.t2") < servers.watermark, F.col("new.t2")
    )
    late = ("t2", "t2_early", "gap")
    kept = [begun[name].alias(name) for name in WINDOWS.names if name not in (*TOPIC, *late)]
    early = F.when(F.col("new.t2") < servers.watermark, F.col("new.t2_early")).otherwise(F.lit(0)).alias("t2_early")
    return both.select(*TOPIC, ended.alias("t2"), early, F.col("new.gap").alias("gap"), *kept)


def intervals_since(start: int, values: DataFrame, uptime: DataFrame) -> DataFrame:
    """TOPIC_INTERVALS of the boots of ``uptime``. Remembered values hold from ``start`` on."""
    since = F.greatest(F.coalesce("ts", F.lit(start)), F.lit(start))
    return conform(intervals(values.withColumn("ts", since), [*TOPIC], uptime).select("*", "value.*"), TOPIC_INTERVALS)
