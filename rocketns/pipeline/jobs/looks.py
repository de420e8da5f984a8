"""How far an observer's clock is off, in Spark: the rule of ``pipeline.clocks.looks``, which explains it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.clocks.estimates import OBSERVED
from rocketns.pipeline.clocks.looks import AGREE_US, FAR_US, LEFT, LOOKS_MAX, SENT_TO_ALL, TOPICS_MAX

DAY = "dt"
RECORD = ("ns", "boot", "seq")


def looks(events: DataFrame, members: DataFrame, servers: DataFrame) -> DataFrame:
    """DAY, early, at, moment: the samples, of EVENTS. ``members``: those that are sampled on a DAY; ``servers``: DAY,
    ns, reference."""
    reference = F.broadcast(servers.where("ns = reference").select(DAY, "ns"))
    mine = F.col("since").isNull() & _is_told()
    told = _keyed(events.where(mine).join(reference, [DAY, "ns"], "left_semi"), members)
    moments = told.select(DAY, "key", F.col("ts").alias("moment")).distinct()
    seen = _keyed(events.where(F.col("since").isNotNull() & _is_seen()), members).withColumn(
        "early", F.greatest(F.col("ts") - F.col("since"), F.lit(0))
    )
    middles = seen.select(DAY, *RECORD, "key", "early", (F.col("ts") - F.expr("early div 2")).alias("at")).distinct()
    pairs = middles.join(moments, [DAY, "key"], "inner").withColumn("far", F.abs(F.col("at") - F.col("moment")))
    of_seen = Window.partitionBy(DAY, *RECORD, "key").orderBy("far", "moment")
    of_told = Window.partitionBy(DAY, "ns", "key", "moment").orderBy("far", "at", *RECORD)
    mutual = (
        pairs.where(F.col("far") <= FAR_US)
        .withColumns({"a": F.row_number().over(of_seen), "b": F.row_number().over(of_told)})
        .where("a = 1 and b = 1")
    )
    best = F.min(F.struct("far", "moment", "at", "early")).alias("best")
    return mutual.groupBy(DAY, *RECORD).agg(best).select(DAY, "best.early", "best.at", "best.moment")


def met(samples: DataFrame) -> DataFrame:
    """DAY and the columns of ESTIMATES without ns and reference, for each day with samples."""
    slices = F.slice(F.sort_array(F.collect_list(F.struct("early", "at", "moment"))), 1, LOOKS_MAX)
    bounds = F.transform("looks", lambda look: F.struct(_low(look).alias("low"), _high(look).alias("high")))
    points = F.transform("bounds", lambda one: F.struct(_holding(one["low"]).alias("n"), one["low"].alias("low")))
    most = F.filter("points", lambda point: point["n"] == F.col("agreeing"))
    ends = F.transform("lows", _end)
    away = F.transform("looks", lambda look: F.abs(look["at"] - look["moment"] - F.col("offset")))
    return (
        samples.groupBy(DAY)
        .agg(slices.alias("looks"))
        .withColumn("bounds", bounds)
        .withColumn("points", points)
        .withColumn("agreeing", F.array_max(F.transform("points", lambda point: point["n"])))
        .withColumn("lows", F.transform(most, lambda point: point["low"]))
        .withColumn("low", F.array_min("lows"))
        .withColumn("high", F.array_max(ends))
        .withColumn("offset", F.expr("cast(floor((low + high) / 2) as bigint)"))
        .withColumn("away", F.explode(away))
        .groupBy(DAY, "low", "high", "offset", "agreeing", F.size("looks").alias("samples"))
        .agg(F.floor(F.median("away") + 0.5).cast("long").alias("spread"))
        .select(
            DAY, F.lit(OBSERVED).alias("method"), "offset", F.col("samples").cast("long").alias("samples"), "spread",
            F.col("agreeing").cast("long").alias("agreeing"),
            F.expr("(high - low + 1) div 2").cast("long").alias("uncertainty"),
            F.array().cast("array<bigint>").alias("latest"),
        )
    )  # fmt: skip


def _is_told() -> Column:
    ev, cause = F.col("ev"), F.col("cause")
    topics = (ev == "tput") & cause.isin(*SENT_TO_ALL) & _is_short()
    return (ev == "reg") | ((ev == "down") & (cause == LEFT)) | topics


def _is_seen() -> Column:
    return F.col("ev").isin("reg", "down") | ((F.col("ev") == "tput") & _is_short())


def _is_short() -> Column:
    return F.coalesce(F.size("topics").between(1, TOPICS_MAX), F.lit(False))


def _keyed(records: DataFrame, members: DataFrame) -> DataFrame:
    """The records with ``key``: the member, if it is sampled, or each topic on the broker."""
    member = F.array("ev", *[F.coalesce(F.col(name).cast("string"), F.lit("")) for name in MEMBER])
    broker = F.coalesce("broker", F.lit(""))
    of_members = records.where("ev <> 'tput'").join(F.broadcast(members), [DAY, *MEMBER], "left_semi")
    topics = records.where("ev = 'tput'").withColumn("topic", F.explode("topics")).where("topic is not null")
    named = F.array(F.lit("tput"), broker, F.coalesce("topic.t", F.lit("")))
    columns = (DAY, *RECORD, "ts", "since")
    return of_members.select(*columns, member.alias("key")).unionByName(topics.select(*columns, named.alias("key")))


def _low(look: Column) -> Column:
    return _high(look) - look["early"] - 2 * AGREE_US


def _high(look: Column) -> Column:
    half = F.floor(look["early"] / 2).cast("long")
    return look["at"] + half - look["moment"] + AGREE_US


def _holding(low: Column) -> Column:
    """How many of ``bounds`` hold it."""
    return F.size(F.filter("bounds", lambda one: (one["low"] <= low) & (one["high"] >= low)))


def _end(low: Column) -> Column:
    """Until where those of ``bounds`` meet that hold ``low``."""
    holding = F.filter("bounds", lambda one: (one["low"] <= low) & (one["high"] >= low))
    return F.array_min(F.transform(holding, lambda one: one["high"]))
