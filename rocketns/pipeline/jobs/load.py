"""What each broker holds: how much is at stake if it goes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import BROKER_LOAD
from rocketns.pipeline.jobs.topics import with_kind

SAMPLE_MAX = 5


def broker_load(topic_intervals: DataFrame, system_topics: DataFrame, observation: Observation) -> DataFrame:
    """BROKER_LOAD."""
    held = (
        topic_intervals.where((F.col("t1") < observation.t1) & (F.col("t2") > observation.t0))
        .groupBy("broker", "topic")
        .agg(F.max("r").alias("r"))
    )
    of_user = F.col("kind") == "user"
    names = F.sort_array(F.collect_list(F.when(of_user, F.col("topic"))))
    return conform(
        with_kind(held, system_topics)
        .groupBy("broker")
        .agg(
            F.count("*").alias("topics"),
            F.count_if(of_user).alias("user_topics"),
            F.coalesce(F.sum(F.when(of_user, F.col("r"))), F.lit(0)).alias("queues"),
            F.slice(names, 1, SAMPLE_MAX).alias("topic_sample"),
        ),
        BROKER_LOAD,
    )
