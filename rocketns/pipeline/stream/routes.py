"""What each name server routes to, and the windows in which they disagree, brought forward from cut to cut.

Windows come from the same job as in a whole run, over the stretch between two cuts only, and those that were open at
the first of the two are continued: so they are the windows that a whole run finds, however the journals were cut.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.schema import (
    KEY_WINDOWS,
    NS_UPTIME,
    TOPIC_INTERVALS,
    Observation,
    columns,
    conform,
    frame_of,
)
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.state import topic_changes
from rocketns.pipeline.stream.servers import Fleet, any_of

KEY = ["topic", "broker"]
# A window is remembered for this time after its end, so that those that begin soon after it join its incident.
REMEMBERED_US = 60_000_000

# A topic's queues on a broker at a name server, as of the cut; seq and cause: of the record that said so.
ROUTES = columns("ns:string boot:long seq:long topic:string broker:string r:int w:int p:int cause:string")
# t2 is null while the window is open.
WINDOWS = StructType([*KEY_WINDOWS.fields])


def told_values(remembered: DataFrame, events: DataFrame) -> DataFrame:
    """ns, boot, seq, ts, topic, broker, value (r, w, p; null: gone), cause: what is remembered has no ts."""
    value = F.struct("r", "w", "p")
    nothing = F.lit(None).cast("long")
    old = remembered.select("ns", "boot", "seq", nothing.alias("ts"), *KEY, value.alias("value"), "cause")
    new = topic_changes(events, ("r", "w", "p"))
    return old.unionByName(new.select("ns", "boot", "seq", "ts", *KEY, "value", "cause"))


def routes_at(told: DataFrame, fleet: Fleet) -> DataFrame:
    """ROUTES as of the cut: nothing of a boot that another one followed."""
    current = told.where(_of_current(fleet))
    last = F.max_by(F.struct("seq", "value", "cause"), F.col("seq")).alias("last")
    return conform(
        current.groupBy("ns", "boot", *KEY).agg(last).where("last.value is not null")
        .select("ns", "boot", *KEY, "last.seq", "last.value.*", "last.cause"),
        ROUTES,
    )  # fmt: skip


def windows_between(told: DataFrame, before: DataFrame, fleet: Fleet) -> DataFrame:
    """WINDOWS that were open between the last cut and this one, and those of ``before`` that ended not long ago."""
    seen = Observation(fleet.before, fleet.cut)
    spark = told.sparkSession
    uptime = frame_of(spark, [tuple(span) for span in fleet.uptime()], NS_UPTIME)
    touched = told.where("ts is not null").select(*KEY).unionByName(before.where("t2 is null").select(*KEY))
    looked_at = told if fleet.changed else told.join(touched.distinct(), KEY, "left_semi")
    found = key_windows(intervals_between(looked_at, uptime, fleet), uptime, seen, 1)
    ended = F.when(F.col("t2") < fleet.cut, F.col("t2"))
    later = found.where(F.col("t1") > fleet.before).withColumn("t2", ended)
    opened, over = before.where("t2 is null"), remembered(before.where("t2 is not null"), fleet)
    continued = _continued(found.where(F.col("t1") == fleet.before), opened, fleet)
    return conform(continued.unionByName(later).unionByName(over), WINDOWS)


def remembered(windows: DataFrame, fleet: Fleet) -> DataFrame:
    """Those of WINDOWS that are open, or ended not long ago."""
    return windows.where(F.col("t2").isNull() | (F.col("t2") > fleet.cut - REMEMBERED_US))


def _continued(first: DataFrame, opened: DataFrame, fleet: Fleet) -> DataFrame:
    """Windows at the last cut: of one that was open before it the beginning is remembered, and one that was open and is
    not there any more ended with the cut."""
    new = first.select(*KEY, F.struct(*WINDOWS.names).alias("new"))
    both = new.join(opened.select(*KEY, F.struct(*WINDOWS.names).alias("old")), KEY, "full")
    begun = F.coalesce("old", "new")
    ended = F.when(F.col("new").isNull(), F.lit(fleet.before)).when(F.col("new.t2") < fleet.cut, F.col("new.t2"))
    return both.select(
        *KEY, begun["t1"].alias("t1"), ended.alias("t2"), begun["cause"].alias("cause"),
        begun["opened_by"].alias("opened_by"), F.col("new.gap").alias("gap"), begun["values"].alias("values"),
    )  # fmt: skip


def intervals_between(told: DataFrame, uptime: DataFrame, fleet: Fleet) -> DataFrame:
    """TOPIC_INTERVALS within [before, cut), of the boots of ``uptime``; what is remembered holds from before on."""
    in_order = Window.partitionBy("ns", "boot", *KEY).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    up = F.broadcast(uptime.select("ns", "boot", F.col("t1").alias("up1"), F.col("t2").alias("up2"), "end_cause"))
    since = F.greatest(F.coalesce("ts", F.lit(fleet.before)), F.lit(fleet.before))
    turns = (
        told.withColumn("t1", F.max(since).over(so_far))
        .withColumn("next_t", F.lead("t1").over(in_order))
        .withColumn("next_cause", F.lead("cause").over(in_order))
        .where("value is not null")
        .join(up, ["ns", "boot"], "inner")
    )
    closed = F.col("next_t").isNotNull() & (F.col("next_t") < F.col("up2"))
    spans = turns.select(
        "ns", *KEY, "value.*", "cause",
        F.greatest("t1", "up1").alias("t1"),
        F.when(closed, F.col("next_t")).otherwise(F.col("up2")).alias("t2"),
        F.when(closed, F.col("next_cause")).otherwise(F.col("end_cause")).alias("end_cause"),
    )  # fmt: skip
    return conform(spans.where("t1 < t2"), TOPIC_INTERVALS)


def _of_current(fleet: Fleet) -> Column:
    wanted = [(F.col("ns") == ns) & (F.col("boot") == boot.boot) for ns, boot in fleet.current().items()]
    return any_of(wanted)
