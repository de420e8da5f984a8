"""Who changed what, whose requests were refused, and which brokers came from new addresses.

docs/audit-reference.md defines each column.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from operator import itemgetter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform, each, plain_rows
from rocketns.pipeline.contract.schema import ADMIN_CHANGES, REFUSED_REQUESTS

# Principals and access keys that are named in one row.
NAMED_MAX = 10
MEMBER = ("cluster", "broker", "bid")


def admin_changes(events: DataFrame, observation: Observation) -> list[dict[str, Any]]:
    """ADMIN_CHANGES, of EVENTS."""
    asked = events.where((F.col("ev") == "admin") & _observed(observation))
    words = F.transform(
        "fields", lambda field: F.concat_ws("=", F.coalesce(field.k, F.lit("")), F.coalesce(field.v, F.lit("")))
    )
    what = F.concat_ws(" ", words)
    named = {"t": F.col("ts"), "host": F.col("from_host"), "what": F.when(F.col("fields").isNotNull(), what)}
    return plain_rows(conform(asked.withColumns(named), ADMIN_CHANGES))


def refused_requests(events: DataFrame, observation: Observation) -> list[dict[str, Any]]:
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
    return plain_rows(conform(rows, REFUSED_REQUESTS))


def new_addresses(events: DataFrame, observation: Observation) -> list[dict[str, Any]]:
    """NEW_ADDRESSES, of EVENTS."""
    shown = events.where("ev in ('reg', 'hb', 'snap') and broker is not null and from_host is not null")
    first = shown.groupBy(*MEMBER, F.col("from_host").alias("host")).agg(
        F.min(F.struct(F.col("ts").alias("t"), "ns", "addr")).alias("first")
    )
    hosts: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(plain_rows(first.select(*MEMBER, "host", "first.*")), key=itemgetter("t", "host")):
        hosts[tuple(row[name] for name in MEMBER)].append(row)
    return [
        {**row, "before": before["host"], "hosts": number}
        for of_member in hosts.values()
        for number, (before, row) in enumerate(pairwise(of_member), 1)
        if observation.t0 <= row["t"] < observation.t1
    ]


def _observed(observation: Observation) -> Column:
    return (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)


def _named(column: str) -> Column:
    return F.slice(F.sort_array(F.collect_set(column)), 1, NAMED_MAX)
