"""When name servers themselves did not run. They noticed what happened then later than others, or not at all."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

# A broker that closed its connection to a stalled name server registers again within its period of 30 s.
AFTER_US = 30_000_000


def stalls(events: DataFrame) -> DataFrame:
    """``ns``, ``stall_t1`` and ``stall_t2``: a name server did not run, or had not heard all brokers again."""
    return events.where((F.col("ev") == "stall") & F.col("ms").isNotNull()).select(
        "ns", (F.col("ts") - F.col("ms") * 1000).alias("stall_t1"), (F.col("ts") + AFTER_US).alias("stall_t2")
    )


def nobody() -> Column:
    """No name server stalled."""
    return F.array().cast("array<string>")


def stalled_at(suspects: DataFrame, events: DataFrame, keys: list[str]) -> DataFrame:
    """The ``keys`` with ``stalled``: which name servers (``ns``) of the suspects stalled at their time ``t``."""
    during = F.col("t").between(F.col("stall_t1"), F.col("stall_t2"))
    return (
        suspects.join(F.broadcast(stalls(events)), ["ns"], "inner")
        .where(during)
        .groupBy(*keys)
        .agg(F.sort_array(F.collect_set("ns")).alias("stalled"))
    )
