"""How steadily each name server saw each broker.

One row per (ns, broker, bid, addr): time up and away, availability, failures, flaps, time between failures, heartbeat
gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import BROKER_STATS
from rocketns.pipeline.contract.terms import FAILURES, GRACEFUL, OBSERVED

KEY = ["ns", "broker", "bid", "addr"]
FLAP_US = 600_000_000
QUANTILES = (0.5, 0.95, 0.99)


def broker_stats(
    broker_intervals: DataFrame, gaps: DataFrame, ns_uptime: DataFrame, observation: Observation
) -> DataFrame:
    """BROKER_STATS. ``gaps``: GAPS of the observation.

    Times count while the name server is known to be up: a killed one wrote no record of when its brokers went. Away is
    from an end until the next interval of the address; after the name server's own start nothing counts until the
    broker is back. A flap is a failure followed by a registration of the same address within FLAP_US. What observers
    saw is none of the others. Availability is null if the broker was neither listed nor away after a failure."""
    t0, t1 = observation
    boots = ns_uptime.groupBy("ns").agg(F.collect_list(F.struct("t1", "t2")).alias("boots"))
    of_address, of_member = Window.partitionBy(*KEY).orderBy("t1"), Window.partitionBy("ns", *MEMBER).orderBy("t1")
    next_t1 = F.lead("t1").over(of_member)
    lives = broker_intervals.join(F.broadcast(boots), "ns", "inner").withColumns({
        "back": F.coalesce(F.lead("t1").over(of_address), F.lit(t1)),
        "back_in": F.when(next_t1 < t1, next_t1 - F.col("t2")),
    })  # fmt: skip
    inside = (F.col("t2") >= t0) & (F.col("t2") < t1)

    def clipped(column: str) -> Column:
        return F.least(F.greatest(F.col(column), F.lit(t0)), F.lit(t1))

    def ended(causes: Sequence[str]) -> Column:
        return F.col("end_cause").isin(*causes)

    def away_s(causes: Sequence[str]) -> Column:
        return F.sum(F.when(ended(causes), _known_s(clipped("t2"), clipped("back"))).otherwise(0.0))

    found = (
        lives.groupBy(*KEY)
        .agg(
            F.sum(_known_s(clipped("t1"), clipped("t2"))).alias("up_s"),
            away_s(FAILURES).alias("failed_s"),
            away_s(GRACEFUL).alias("planned_s"),
            F.count_if(inside & ended(FAILURES)).alias("failures"),
            F.count_if(inside & ended(GRACEFUL)).alias("graceful"),
            F.count_if(inside & ended(FAILURES) & (F.col("back_in") <= FLAP_US)).alias("flaps"),
            F.count_if(inside & ended(OBSERVED)).alias("observed"),
            F.max((F.col("t1") < t1) & (F.col("t2") >= t0)).alias("listed"),
        )
        .where("listed")
    )
    return conform(
        found.join(_heartbeat_gaps(gaps), KEY, "left").withColumns({
            "availability": F.try_divide("up_s", F.col("up_s") + F.col("failed_s")),
            "mtbf_s": F.when(F.col("failures") > 0, F.col("up_s") / F.col("failures")),
            "gaps": F.coalesce("gaps", F.lit(0)),
        }),
        BROKER_STATS,
    )  # fmt: skip


def _known_s(start: Column, end: Column) -> Column:
    """How much of [start, end), in us, lies in boots of the name server, s."""

    def overlap(boot: Column) -> Column:
        return F.greatest(F.least(end, boot["t2"]) - F.greatest(start, boot["t1"]), F.lit(0)) / F.lit(1e6)

    return F.aggregate("boots", F.lit(0.0), lambda sum_, boot: sum_ + overlap(boot))


def _heartbeat_gaps(gaps: DataFrame) -> DataFrame:
    """KEY, exact quantiles of the heartbeat gaps, and their number, of GAPS."""
    quantile = F.percentile("gap_ms", F.array(*[F.lit(q) for q in QUANTILES]), F.col("n"))
    shown = gaps.groupBy(*KEY).agg(quantile.alias("q"), F.max("gap_ms").alias("gap_max"), F.sum("n").alias("gaps"))
    return shown.select(
        *KEY,
        "gap_max",
        "gaps",
        *[F.col("q")[i].alias(name) for i, name in enumerate(("gap_p50", "gap_p95", "gap_p99"))],
    )
