"""What each broker holds: user topics and their queues."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation, columns, frame_of
from rocketns.pipeline.contract.schema import TOPIC_INTERVALS
from rocketns.pipeline.jobs.load import broker_load


def test_each_topic_counts_once_with_its_largest_number_of_queues(spark: SparkSession) -> None:
    rows = [
        ("n1", "t", "b1", 4, 4, 6, 0, 100, "register", "open", 0, 0),
        ("n2", "t", "b1", 8, 8, 6, 50, 100, "register", "open", 0, 0),
        ("n1", "u", "b1", 2, 2, 6, 0, 100, "register", "open", 0, 0),
        ("n1", "b1", "b1", 1, 1, 6, 0, 100, "register", "open", 0, 0),
        ("n1", "%RETRY%g", "b1", 1, 1, 6, 0, 100, "register", "open", 0, 0),
        ("n1", "before", "b1", 9, 9, 6, 0, 10, "register", "admin", 0, 0),
        ("n1", "TBW102", "b2", 8, 8, 6, 0, 100, "register", "open", 0, 0),
    ]
    system = frame_of(spark, [("b1",)], columns("topic:string"))
    found = broker_load(frame_of(spark, rows, TOPIC_INTERVALS), system, Observation(10, 100))
    assert sorted(tuple(row) for row in found.collect()) == [("b1", 4, 2, 10, ["t", "u"]), ("b2", 1, 0, 0, [])]
