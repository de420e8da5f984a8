"""What each name server answered for a topic at a time, told by its journal: its route, in the order of the answer.

Times are each name server's own, uncorrected. Not in a journal, and so not here: filter servers, the mappings of static
topics, and whether supportActingMaster was on, which the caller says. Where members of one broker name registered in
several clusters, the first by name stands for the group's.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import ROUTES, Keep, Observation, as_it_is, conform
from rocketns.pipeline.jobs.history import state

QUEUE = ("r", "w", "p", "s")
WRITE, MASTER = 2, 0
MEMBER_LIST_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"  # of topics that show a group as it is
ENDLESS = 2**62  # us: no observation ends there


def routes_at(
    events: DataFrame,
    topic: str,
    at: int,
    silent_after_us: int = state.SILENT_AFTER_US,
    acting_masters: bool = False,
    keep: Keep = as_it_is,
) -> DataFrame:
    """ROUTES after everything that was written until ``at`` (epoch us), a row for each name server that wrote at all.

    Empty arrays: the server knew no route, and answered that the topic does not exist. Later events tell whether a
    name server that was quiet at the time was still there.
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


def _until_last_sign(base: state.Base, silent_after_us: int) -> state.Base:
    """A name server without an end is taken to have been there for a while after its last record."""
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
    return _held(state.intervals(changes, ("topic", "broker"), base), at).select("ns", "broker", "value.*")


def _groups(events: DataFrame, queues: DataFrame, base: state.Base, at: int) -> DataFrame:
    """ns, broker, cluster, addrs sorted by broker id, acting (the group knows acting masters).

    Who has queues has a group, which may have lost all its addresses to other groups or ids.
    """
    members = _held(state.broker_intervals(events, base, Observation(0, ENDLESS)), at)
    member = F.struct("bid", "addr")
    addrs = members.groupBy("ns", "broker").agg(
        F.min("cluster").alias("cluster"), F.array_sort(F.collect_list(member)).alias("addrs")
    )
    order = F.struct("boot", "seq")
    tells = F.col("acting").isNotNull() | F.col("ev").isin("reg", "down")  # not each heartbeat
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
    """The smallest slave of a masterless, read-only group that knows acting masters is shown as its master."""

    def shown(group: Column) -> Column:
        writable = F.exists("queues", lambda q: (q["broker"] == group["broker"]) & (q["p"].bitwiseAND(WRITE) != 0))
        has_master = F.exists(group["addrs"], lambda member: member["bid"] == MASTER)
        acts = F.coalesce(group["acting"], F.lit(False)) & (F.size(group["addrs"]) > 0) & ~has_master & ~writable
        return F.when(acts, group.withField("addrs", _first_as_master(group["addrs"]))).otherwise(group)

    return routes.withColumn("groups", F.transform("groups", shown))


def _first_as_master(addrs: Column) -> Column:
    first = F.get(addrs, F.lit(0)).withField("bid", F.lit(MASTER))
    return F.concat(F.array(first), F.slice(addrs, 2, F.greatest(F.size(addrs) - 1, F.lit(0))))
