"""Who asks for routes, which name servers, and how often: a client learns of a change that much later."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform, each
from rocketns.pipeline.contract.schema import CLIENTS
from rocketns.pipeline.jobs.tallies import named

CALLER = ("client", "lang", "cv")


def clients(callers: DataFrame) -> DataFrame:
    """CLIENTS, of CALLERS. ``poll_s``: the mean time between two lookups of one topic; null without a client."""
    found = (
        named(callers)
        .groupBy(*CALLER)
        .agg(
            F.sort_array(F.collect_set("ns")).alias("ns"),
            F.count_distinct("topic").alias("topics"),
            *each(F.sum, "n", "miss", "iv_ms"),
            *each(F.min, "t1"),
            *each(F.max, "t2"),
        )
    )
    poll_s = F.when(F.col("client").isNotNull(), F.try_divide(F.col("iv_ms") / 1000, "n"))
    return conform(found.withColumn("poll_s", poll_s), CLIENTS)
