"""What each name server answered for a topic at a moment, according to its journal, in the order of the answer.

A journal does not hold filter servers, mappings of static topics, or
whether supportActingMaster was on, which the caller says. If members of one broker name registered in several clusters,
the first cluster by name is taken.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Keep, Observation, as_it_is, conform
from rocketns.pipeline.contract.schema import ROUTES
from rocketns.pipeline.jobs.history import state

QUEUE = ("r", "w", "p", "s")
WRITE, MASTER = 2, 0
MEMBER_LIST_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"  # of topics that show a group as it is
ENDLESS = 2**62  # us: no observation ends there


def routes_at(
    events: DataFrame,
    topic: str,
    at: int,
    silent_after_us: int = SILENT_AFTER_US,
    acting_masters: bool = False,
    keep: Keep = as_it_is,
) -> DataFrame:
    """ROUTES as of ``at`` (epoch us), one row per name server with any record.

    Empty arrays: the server had no route and answered that the topic does not exist. Later events show whether a
    name server that was quiet at that moment was still up.
    """
    base = _until_last_sign(state.base(events, Observation(0, ENDLESS), keep=keep), silent_after_us)
    queues = _queues(events, topic, base, at)
    groups = _groups(events, queues, base, at)
    known = _held(base.uptime, at).select("ns", F.lit(True).alias("known"))
    routes = (
        base.boots.select("ns")
        .distinct()
        .join(known, ["ns"], "left")
        .join(_by_server(queues, "queues", "broker", *QUEUE), ["ns"], "left")
        .join(_by_server(groups, "groups", "broker", "cluster", "addrs", "acting"), ["ns"], "left")
    )
    answered = F.col("known") & F.col("queues").isNotNull()
    shown = routes.select(
        "ns",
        F.coalesce("known", F.lit(False)).alias("known"),
        *[F.when(answered, F.col(name)).otherwise(F.array()).alias(name) for name in ("queues", "groups")],
    )
    acting = acting_masters and not topic.startswith(MEMBER_LIST_PREFIX)
    return conform(_with_acting_masters(shown) if acting else shown, ROUTES)


def lost_before(events: DataFrame, at: int, keep: Keep = as_it_is) -> DataFrame:
    """ns, t: since when records of the running boot are missing that may have changed a route as of ``at``. A whole
    snapshot after a hole restores the state."""
    before = events.where(F.col("ts") <= at)
    known = state.base(before, Observation(0, at + 1), keep=keep)
    last = known.boots.groupBy("ns").agg(F.max("boot").alias("boot"))
    holes = known.holes.join(F.broadcast(last), ["ns", "boot"], "left_semi").select("ns", "boot", "until", "t1")
    repaired = known.snapshots.select("ns", "boot", "snap")
    after = [F.col("h.ns") == F.col("s.ns"), F.col("h.boot") == F.col("s.boot"), F.col("s.snap") >= F.col("h.until")]
    return (
        holes.alias("h")
        .join(F.broadcast(repaired).alias("s"), after, "left_anti")
        .groupBy("ns")
        .agg(F.min("t1").alias("t"))
    )


def _until_last_sign(base: state.Base, silent_after_us: int) -> state.Base:
    """A name server without a stop record is taken to be up for a while after its last record."""
    until = F.when(F.col("end_cause") == "silent", F.col("t2") + silent_after_us).otherwise(F.col("t2"))
    return base._replace(uptime=base.uptime.withColumn("t2", until))


def _held(intervals: DataFrame, at: int) -> DataFrame:
    return intervals.where((F.col("t1") <= at) & (F.col("t2") > at))


def _queues(events: DataFrame, topic: str, base: state.Base, at: int) -> DataFrame:
    """ns, broker, r, w, p, s."""
    naming = events.where(F.exists("topics", lambda entry: entry["t"] == topic))
    changes = state.topic_changes(state.counted(naming, base, Observation(0, ENDLESS)), QUEUE).where(
        F.col("topic") == topic
    )
    return _held(state.held_topics(changes, base), at).select("ns", "broker", "value.*")


def _groups(events: DataFrame, queues: DataFrame, base: state.Base, at: int) -> DataFrame:
    """ns, broker, cluster, addrs sorted by broker id, acting (the group supports acting masters).

    Each broker with queues has a group. The group may have lost all its addresses to other groups or ids.
    """
    members = _held(state.broker_intervals(events, base, Observation(0, ENDLESS)), at)
    member = F.struct("bid", "addr")
    addrs = members.groupBy("ns", "broker").agg(
        F.min("cluster").alias("cluster"), F.array_sort(F.collect_list(member)).alias("addrs")
    )
    order = F.struct("boot", "seq")
    tells = F.col("acting").isNotNull() | F.col("ev").isin("reg", "down")  # not every heartbeat
    last_told = (
        events.where((F.col("ts") <= at) & F.col("cluster").isNotNull() & tells)
        .groupBy("ns", "broker")
        .agg(
            F.max_by("cluster", order).alias("last_cluster"),
            F.max_by("acting", F.when(F.col("acting").isNotNull(), order)).alias("acting"),
        )
    )
    return (
        queues.select("ns", "broker")
        .distinct()
        .join(addrs, ["ns", "broker"], "left")
        .join(last_told, ["ns", "broker"], "left")
        .select(
            "ns", "broker", F.coalesce("cluster", "last_cluster").alias("cluster"),
            F.coalesce("addrs", F.array()).alias("addrs"), "acting",
        )
    )  # fmt: skip


def _by_server(rows: DataFrame, name: str, *columns: str) -> DataFrame:
    """ns and an array of structs, sorted by broker, which is the first column."""
    sorted_rows = F.array_sort(F.collect_list(F.struct(*columns)))
    return rows.groupBy("ns").agg(sorted_rows.alias(name))


def _with_acting_masters(routes: DataFrame) -> DataFrame:
    """Show the slave with the smallest id as master, in read-only groups that support acting masters and have none."""

    def shown(group: Column) -> Column:
        writable = F.exists("queues", lambda q: (q["broker"] == group["broker"]) & (q["p"].bitwiseAND(WRITE) != 0))
        has_master = F.exists(group["addrs"], lambda member: member["bid"] == MASTER)
        acts = F.coalesce(group["acting"], F.lit(False)) & (F.size(group["addrs"]) > 0) & ~has_master & ~writable
        return F.when(acts, group.withField("addrs", _first_as_master(group["addrs"]))).otherwise(group)

    return routes.withColumn("groups", F.transform("groups", shown))


def _first_as_master(addrs: Column) -> Column:
    first = F.get(addrs, F.lit(0)).withField("bid", F.lit(MASTER))
    return F.concat(F.array(first), F.slice(addrs, 2, F.greatest(F.size(addrs) - 1, F.lit(0))))
