"""Topic segments for tests: views as ``{"n1": {"a": 4, "b": (4, 8, 6)}}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import TOPIC_SEGMENTS
from tests.pipeline.journals import SECOND

View = Mapping[str, int | tuple[int, int, int]]  # broker -> r, w, p; a number stands for (number, number, 6)
Segment = tuple[str, int, int, list[tuple[str, list[tuple[str, int, int, int]]]]]


def segment(views: Mapping[str, View], topic: str = "T", start_s: int = 0, end_s: int = 10) -> Segment:
    known = [(ns, [_entry(broker, view[broker]) for broker in sorted(view)]) for ns, view in sorted(views.items())]
    return topic, start_s * SECOND, end_s * SECOND, known


def segments_frame(spark: SparkSession, segments: Sequence[Segment]) -> DataFrame:
    return frame_of(spark, segments, TOPIC_SEGMENTS)


def _entry(broker: str, value: Any) -> tuple[str, int, int, int]:
    r, w, p = value if isinstance(value, tuple) else (value, value, 6)
    return broker, r, w, p
