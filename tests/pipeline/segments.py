"""Topic segments for tests: views as ``{"n1": {"a": 4, "b": (4, 8, 6)}}``, and random ones."""

from __future__ import annotations

import random
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


def random_segments(seed: int, count: int) -> list[Segment]:
    """Up to 3 name servers and 3 brokers; brokers that are missing, not readable, not writable or of another size."""
    chance = random.Random(seed)
    return [_random_segment(chance, f"T{i % 7}", 100 * i) for i in range(count)]


def _random_segment(chance: random.Random, topic: str, start_s: int) -> Segment:
    full = {f"broker-{c}": chance.choice((1, 2, 3, 4)) for c in "abc"[: chance.randint(1, 3)]}
    views = {f"n{i}": _random_view(chance, full) for i in range(1, chance.randint(2, 3) + 1)}
    return segment(views, topic, start_s, start_s + chance.randint(1, 99))


def _random_view(chance: random.Random, full: Mapping[str, int]) -> View:
    def entry(r: int) -> tuple[int, int, int]:
        return (r if chance.random() < 0.8 else chance.choice((0, 1, 5)), r, chance.choice((6, 6, 6, 4, 2)))

    return {broker: entry(r) for broker, r in full.items() if chance.random() < 0.7}


def _entry(broker: str, value: Any) -> tuple[str, int, int, int]:
    r, w, p = value if isinstance(value, tuple) else (value, value, 6)
    return broker, r, w, p
