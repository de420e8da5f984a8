"""How many topics and consumers the listed incidents affected. The list may be made from a part of the tables' rows, so
this is counted in the whole tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.catalogue import CERTAIN
from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.storage.results import Results

# The rows of INCIDENTS that ``incident`` (its place in the list) was made from, whose time in all is [begin, end).
MADE_FROM = columns("incident:int broker:string cause:string t1:long t2:long begin:long end:long")


def counted(results: Results, incidents: Sequence[Incident]) -> list[Incident]:
    """The incidents in their order, with the user topics and the queues of consumers that the whole tables tell."""
    rows = [
        (place, *row, min(r.t1 for r in incident.rows), max(r.t2 for r in incident.rows))
        for place, incident in enumerate(incidents)
        for row in incident.rows
    ]
    if not rows:
        return list(incidents)
    made_from = frame_of(results.frame("key_windows").sparkSession, rows, MADE_FROM)
    effects = {row["incident"]: row.asDict() for row in _effects(results, made_from).collect()}
    return [
        _with(incident, effects[place]) if place in effects else incident for place, incident in enumerate(incidents)
    ]


def _effects(results: Results, made_from: DataFrame) -> DataFrame:
    """incident, topics, orphaned, twice: of each topic the worst result that lies in the incident's time."""
    windows = (
        results.frame("key_windows").where(f"{CERTAIN} and kind = 'user'").select("topic", "broker", "cause", "t1")
    )
    begins_in = (F.col("w.t1") >= F.col("m.t1")) & (F.col("w.t1") < F.col("m.t2"))
    same = (F.col("w.broker") == F.col("m.broker")) & F.col("w.cause").eqNullSafe(F.col("m.cause")) & begins_in
    topics = (
        windows.alias("w")
        .join(F.broadcast(made_from).alias("m"), same)
        .select("incident", "topic", "begin", "end")
        .distinct()
    )
    lies_in = (F.col("i.t1") < F.col("d.end")) & (F.col("i.t2") > F.col("d.begin"))
    results_of = results.frame("impact").select("topic", "t1", "t2", "orphaned_max", "dup_max").alias("i")
    worst = (
        topics.alias("d")
        .join(results_of, (F.col("d.topic") == F.col("i.topic")) & lies_in, "left")
        .groupBy("incident", "d.topic")
        .agg(F.max("orphaned_max").alias("orphaned"), F.max("dup_max").alias("twice"))
    )
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("orphaned", "twice")]
    return worst.groupBy("incident").agg(F.count("*").alias("topics"), *sums)


def _with(incident: Incident, effect: Mapping[str, Any]) -> Incident:
    """A row of INCIDENTS knows its number of topics; several may have topics in common."""
    topics = effect["topics"] if len(incident.rows) > 1 else incident.harm.topics
    orphaned, twice = round(effect["orphaned"]), round(effect["twice"])
    return replace(incident, harm=replace(incident.harm, topics=topics, orphaned=orphaned, twice=twice))
