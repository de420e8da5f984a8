"""How steadily each name server saw each broker.

One row per (ns, broker, bid, addr): time up and away, availability, failures, flaps, time between failures, heartbeat
gaps.

Why a broker went, judged from all name servers together.

Downs of one broker that follow each other within TOGETHER_US (a closed connection or an unregistration) or within
timeout and scan (an expiry, what a restarted name server finds out, or what was observed from outside) are one
departure, unless the broker came back between them: to the name server of the later down, or, if that was observed, to
any that had lost it. Observed downs have no causes, so the time allowed for a timeout would join a cut link and a stop
soon after it. Downs of two name servers may follow each other later by as much as their clocks may differ. A timeout
counts as a day at most. What was observed may have come earlier, since the look before. An address that registered
under another id, or lost its id to another address, did not depart.

When name servers themselves did not run. They noticed what happened then later than others, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract import terms
from rocketns.pipeline.contract.frames import Checkpoint, Observation, as_it_is, columns, conform
from rocketns.pipeline.contract.schema import BROKER_STATS, DEPARTURES
from rocketns.pipeline.jobs.clocks import between, off_by_day, off_of

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
            away_s(terms.FAILURES).alias("failed_s"),
            away_s(terms.GRACEFUL).alias("planned_s"),
            F.count_if(inside & ended(terms.FAILURES)).alias("failures"),
            F.count_if(inside & ended(terms.GRACEFUL)).alias("graceful"),
            F.count_if(inside & ended(terms.FAILURES) & (F.col("back_in") <= FLAP_US)).alias("flaps"),
            F.count_if(inside & ended(terms.OBSERVED)).alias("observed"),
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


TOGETHER_US = 10_000_000
BIN_US = 300_000_000
HEARD_US = 3_600_000_000
TIMEOUT_MAX_MS = 86_400_000
BROKER = ["cluster", "broker"]
# The first heartbeat of a broker and id at a name server (by) after the departure that began at d1.
HEARD = columns("cluster:string broker:string by:string bid:int d1:long ts:long")
DEPARTED = (*terms.GRACEFUL, *terms.FAILURES, *terms.OBSERVED)


def departures(
    broker_intervals: DataFrame,
    events: DataFrame,
    observation: Observation,
    clock_days: DataFrame,
    user_topics_of_brokers: DataFrame,
    checkpoint: Checkpoint = as_it_is,
) -> DataFrame:
    """DEPARTURES. ``user_topics_of_brokers``: as the function of that name gives it. ``t1`` is the first down, ``t2``
    the last; ``bids``: the broker ids that went. ``kind`` is ``observed`` if nobody but observers saw it,
    who see no causes; otherwise it is that of the others. It is ``unclear`` if no other kind fits all name servers:
    causes are mixed, or a name server that still listed the broker neither received a heartbeat nor dropped it."""
    downs = checkpoint(grouped_downs(broker_intervals, observation, clock_days))
    groups = _groups(downs)
    stayed = who_stayed(groups, downs, broker_intervals)
    key = [*BROKER, "departure"]
    beats = first_heard(groups, broker_intervals, events, observation)
    in_time = (F.col("ts") <= F.col("d1") + F.col("horizon")) & (F.col("ts") < F.col("until"))
    heard_by = stayed.join(beats, [*BROKER, "by", "bid", "d1"], "inner").where(in_time)
    heard = heard_by.select(*key, F.lit(True).alias("heard")).distinct()
    stalled = stalled_at(downs.select(*key, F.col("t2").alias("t"), "ns"), events, key)
    stayed_on = stayed.select(*key, F.lit(True).alias("stayed")).distinct()
    return conform(
        groups.join(stayed_on, key, "left")
        .join(F.broadcast(user_topics_of_brokers), "broker", "left")
        .join(heard, key, "left")
        .join(stalled, key, "left")
        .withColumns({"kind": _kind(), "t1": F.col("d1"), "t2": F.col("d2")})
        .withColumn("stalled", F.coalesce("stalled", nobody())),
        DEPARTURES,
    )


def grouped_downs(broker_intervals: DataFrame, observation: Observation, clock_days: DataFrame) -> DataFrame:
    """BROKER_INTERVALS that a departure closed within the observation; ``departure`` numbers those of each broker."""
    order = Window.partitionBy(*BROKER).orderBy("t2", "ns", "bid", "addr")
    before = F.lag("t2").over(order)
    changes = F.col("ns") != F.lag("ns").over(order)
    apart = F.when(changes, between(F.col("clock"), F.lag("clock").over(order))).otherwise(F.lit(0))
    far = F.col("t2") - F.coalesce("t2_early", F.lit(0)) - F.col("before") > _wait_us() + apart
    back_between = F.col("t1") > F.col("before")
    back_anywhere = F.col("end_cause").isin(*terms.OBSERVED) & (F.col("back") > F.col("before"))
    starts = F.col("before").isNull() | far | back_between | F.coalesce(back_anywhere, F.lit(False))
    downs = broker_intervals.where(
        F.col("end_cause").isin(*DEPARTED) & (F.col("t2") >= observation.t0) & (F.col("t2") < observation.t1)
    )
    return (
        off_by_day(_with_back(downs, broker_intervals), "t2", clock_days)
        .withColumns({"clock": off_of(F.col("ns")), "before": before})
        .withColumn("starts", F.when(starts, 1).otherwise(0))
        .withColumn("departure", F.sum("starts").over(order.rowsBetween(Window.unboundedPreceding, 0)))
        .drop("before", "starts", "clock", "clocks", "back")
    )


def _with_back(downs: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The downs with ``back``: when the broker last came back by then, to any name server that had lost it."""
    ended = F.lag("end_cause").over(Window.partitionBy("ns", *BROKER, "bid").orderBy("t1", "t2"))
    returns = broker_intervals.select(*BROKER, F.col("t1").alias("back"), ended.alias("ended"))
    backs = returns.where(F.col("ended").isin(*DEPARTED)).select(*BROKER, "back", F.col("back").alias("at"))
    so_far = Window.partitionBy(*BROKER).orderBy("at").rangeBetween(Window.unboundedPreceding, Window.currentRow)
    both = downs.withColumn("at", F.col("t2")).unionByName(backs, allowMissingColumns=True)
    return both.withColumn("back", F.max("back").over(so_far)).where(F.col("t2").isNotNull()).drop("at")


def _groups(downs: DataFrame) -> DataFrame:
    """The departures of ``grouped_downs``."""
    return downs.groupBy(*BROKER, "departure").agg(
        F.min("t2").alias("d1"),
        F.max("t2").alias("d2"),
        F.sort_array(F.collect_set("ns")).alias("ns"),
        F.sort_array(F.collect_set("bid")).alias("bids"),
        F.array_except(F.collect_set("end_cause"), _texts(terms.OBSERVED)).alias("causes"),
        F.min_by(F.coalesce("t2_early", F.lit(0)), F.struct("t2", -F.col("t2_early"))).alias("t1_early"),
        F.sort_array(F.collect_set("asked")).alias("asked"),
        F.max(_expiry_us()).alias("horizon"),
    )


def _listing(groups: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The departure's columns with ``by``, ``bid`` and ``until``: the name servers that listed the broker at the first
    down."""
    listed = broker_intervals.select(*BROKER, F.col("ns").alias("by"), "bid", "t1", F.col("t2").alias("until"))
    return groups.join(listed, BROKER, "inner").where((F.col("t1") <= F.col("d1")) & (F.col("until") > F.col("d1")))


def who_stayed(groups: DataFrame, downs: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The rows of ``_listing`` for the ids that went, at name servers that did not lose them in this departure."""
    candidates = _listing(groups, broker_intervals).where(F.array_contains("bids", F.col("bid")))
    participants = downs.select(*BROKER, "departure", F.col("ns").alias("by"), "bid")
    return candidates.join(participants, [*BROKER, "departure", "by", "bid"], "left_anti")


def first_heard(
    groups: DataFrame, broker_intervals: DataFrame, events: DataFrame, observation: Observation
) -> DataFrame:
    """HEARD, of every name server that listed the broker when the departure began, with any id: a later down may still
    join the departure. Heartbeats count up to HEARD_US after it, or timeout and scan if that is longer.
    Joining by time bins compares each heartbeat only with the departures near it."""
    listed = _listing(groups, broker_intervals)
    reach = F.greatest("horizon", F.lit(HEARD_US))
    bins = F.explode(F.sequence(F.expr(f"d1 div {BIN_US}"), F.expr(f"(d1 + reach) div {BIN_US}")))
    asked = listed.select(*BROKER, "by", "bid", "d1", reach.alias("reach"))
    near = F.broadcast(asked.distinct().withColumn("bin", bins))
    beats = events.where(
        (F.col("ev") == "hb") & (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)
    ).select(*BROKER, F.col("ns").alias("by"), "bid", "ts", F.expr(f"ts div {BIN_US}").alias("bin"))
    after = (F.col("ts") > F.col("d1")) & (F.col("ts") <= F.col("d1") + F.col("reach"))
    found = beats.join(near, [*BROKER, "by", "bid", "bin"], "inner").where(after)
    return conform(found.groupBy(*BROKER, "by", "bid", "d1").agg(F.min("ts").alias("ts")), HEARD)


def _wait_us() -> Column:
    """How long after the previous down a down of this cause still belongs to the departure."""
    return F.when(F.col("end_cause").isin(*terms.NOTICED_LATE), _expiry_us()).otherwise(F.lit(TOGETHER_US))


def _expiry_us() -> Column:
    """Timeout and scan: after this time without a heartbeat a name server drops the broker. The broker says how long,
    and may say anything."""
    said = F.least(F.greatest("timeout_ms", F.lit(0)), F.lit(TIMEOUT_MAX_MS))
    return F.when(F.col("timeout_ms").isNull(), terms.TIMEOUT_MS).otherwise(said) * 1000 + terms.SCAN_US


def _kind() -> Column:
    """From the columns ``causes`` (without those of observers), ``stayed`` and ``heard`` of a departure."""
    return (
        F.when(F.arrays_overlap("causes", _texts(terms.GRACEFUL)), "graceful")
        .when(F.col("heard"), "partition")
        .when(F.size("causes") == 0, "observed")
        .when(F.col("stayed"), "unclear")
        .when(F.forall("causes", lambda cause: cause.isin(*terms.CONNECTION_ENDED)), "crash")
        .when(F.forall("causes", lambda cause: cause.isin(*terms.SILENT)), "silent")
        .otherwise("unclear")
    )


def _texts(values: Sequence[str]) -> Column:
    return F.array(*[F.lit(value) for value in values])


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
