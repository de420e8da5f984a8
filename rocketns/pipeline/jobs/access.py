"""Who changed what, whose requests were refused, and which brokers came from new addresses.

docs/audit-reference.md defines each column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform, each
from rocketns.pipeline.contract.schema import ADMIN_CHANGES, NEW_ADDRESSES, REFUSED_REQUESTS

# Principals and access keys that are named in one row.
NAMED_MAX = 10
MEMBER = ("cluster", "broker", "bid")


def admin_changes(events: DataFrame, observation: Observation) -> DataFrame:
    """ADMIN_CHANGES, of EVENTS."""
    asked = events.where((F.col("ev") == "admin") & _observed(observation))
    what = F.concat_ws(" ", F.transform("fields", _in_words))
    named = {"t": F.col("ts"), "host": F.col("from_host"), "what": F.when(F.col("fields").isNotNull(), what)}
    return conform(asked.withColumns(named), ADMIN_CHANGES)


def refused_requests(events: DataFrame, observation: Observation) -> DataFrame:
    """REFUSED_REQUESTS, of EVENTS."""
    refused = events.where((F.col("ev") == "refused") & _observed(observation)).withColumnRenamed("from_host", "host")
    rows = refused.groupBy("host", "access", "code", "reason", "enforced").agg(
        *each(F.sum, "n"),
        F.min("ts").alias("t1"),
        F.max("ts").alias("t2"),
        F.sort_array(F.collect_set("ns")).alias("ns"),
        _named("principal").alias("principals"),
        _named("access_key").alias("access_keys"),
    )
    return conform(rows, REFUSED_REQUESTS)


def new_addresses(events: DataFrame, observation: Observation) -> DataFrame:
    """NEW_ADDRESSES, of EVENTS."""
    shown = events.where("ev in ('reg', 'hb', 'snap') and broker is not null and from_host is not null")
    first = shown.groupBy(*MEMBER, F.col("from_host").alias("host")).agg(
        F.min(F.struct(F.col("ts").alias("t"), "ns", "addr")).alias("first")
    )
    in_order = Window.partitionBy(*MEMBER).orderBy("t", "host")
    known = first.select(*MEMBER, "host", "first.*").withColumns(
        {"before": F.lag("host").over(in_order), "hosts": F.row_number().over(in_order) - 1}
    )
    return conform(known.where(F.col("before").isNotNull() & _observed(observation, "t")), NEW_ADDRESSES)


def _observed(observation: Observation, column: str = "ts") -> Column:
    return (F.col(column) >= observation.t0) & (F.col(column) < observation.t1)


def _in_words(field: Column) -> Column:
    return F.concat(F.coalesce(field.k, F.lit("")), F.lit("="), F.coalesce(field.v, F.lit("")))


def _named(column: str) -> Column:
    return F.slice(F.sort_array(F.collect_set(column)), 1, NAMED_MAX)
