"""How unevenly producers write, for each segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS
from rocketns.pipeline.jobs.queues.imbalance import imbalance
from tests.pipeline.journals import SECOND
from tests.pipeline.segments import segment, segments_frame

BOTH, A = {"broker-a": 4, "broker-b": 4}, {"broker-a": 4}
Life = tuple[str, str, int, int, int]  # ns, broker, broker id, first and last second


def lives(spark: SparkSession, *known: Life) -> DataFrame:
    rows = [
        (ns, "c", broker, bid, f"{broker}:{bid}", t1 * SECOND, t2 * SECOND, "open", None, None, None, 0, 0, None)
        for ns, broker, bid, t1, t2 in known
    ]
    return frame_of(spark, rows, BROKER_INTERVALS)


def always(spark: SparkSession, names: Sequence[str] = ("n1", "n2", "n3")) -> DataFrame:
    return lives(spark, *[(ns, broker, 0, 0, 10_000) for ns in names for broker in ("broker-a", "broker-b")])


def figures(frame: DataFrame) -> list[tuple[Any, ...]]:
    """(broker, share, fair, tvd, peak, no_share_ns), in the order of time and broker."""
    rows = sorted(frame.collect(), key=lambda row: (row.t1, row.broker))
    return [(row.broker, row.share, row.fair, row.tvd, row.peak, row.no_share_ns) for row in rows]


def test_a_view_without_write_queues_has_no_share_and_is_named(spark: SparkSession) -> None:
    window = segments_frame(spark, [segment({"n1": BOTH, "n2": {"broker-a": (4, 4, 4)}, "n3": {}})])
    assert figures(imbalance(window, always(spark))) == [
        ("broker-a", 0.5, 0.5, 0, 1, ["n2"]),
        ("broker-b", 0.5, 0.5, 0, 1, ["n2"]),
    ]


def test_a_topic_without_write_queues_has_no_figures(spark: SparkSession) -> None:
    window = segments_frame(spark, [segment({"n1": {"broker-a": (4, 4, 4)}, "n2": {"broker-a": (2, 2, 4)}})])
    assert figures(imbalance(window, always(spark))) == [("broker-a", None, None, None, None, ["n1", "n2"])]


def test_the_union_takes_the_larger_number_of_queues(spark: SparkSession) -> None:
    window = segments_frame(spark, [segment({"n1": {"broker-a": 4, "broker-b": 12}, "n2": BOTH})])
    assert [row[1:3] for row in figures(imbalance(window, always(spark)))] == [(0.375, 0.25), (0.625, 0.75)]


def test_a_broker_counts_only_while_it_has_a_master(spark: SparkSession) -> None:
    """n2 has a replica of broker-b all the time, and its master from the fourth second on."""
    window = segments_frame(spark, [segment({"n1": BOTH, "n2": BOTH}, end_s=10)])
    known = lives(
        spark,
        *[("n1", broker, 0, 0, 100) for broker in BOTH],
        ("n2", "broker-a", 0, 0, 100),
        ("n2", "broker-b", 1, 0, 100),
        ("n2", "broker-b", 0, 4, 100),
    )
    rows = sorted(imbalance(window, known).collect(), key=lambda row: (row.t1, row.broker))
    assert [(row.t1 // SECOND, row.t2 // SECOND, row.broker, row.share) for row in rows] == [
        (0, 4, "broker-a", 0.75),
        (0, 4, "broker-b", 0.25),
        (4, 10, "broker-a", 0.5),
        (4, 10, "broker-b", 0.5),
    ]
