"""What a run takes over from closed days, by the marks of the previous run and of this one."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.inputs import Inputs
from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, CLOCK_DAYS, NS_UPTIME, TOPIC_DOUBTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.earlier.keeping import Closing
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results

DAY = "2026-01-01"
TABLES = {
    "topic_intervals": TOPIC_INTERVALS, "broker_intervals": BROKER_INTERVALS, "ns_uptime": NS_UPTIME,
    "topic_doubts": TOPIC_DOUBTS, "clock_days": CLOCK_DAYS,
}  # fmt: skip


class Fleet:
    """A run over tables without rows."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._results = spark, Results(spark, folder_at(spark, folder))
        self._tables = {name: frame_of(spark, [], schema) for name, schema in TABLES.items()}

    def inputs(self, mark: str = "", **options: Any) -> Inputs:
        nothing = Earlier.nothing(self._spark)
        given: dict[str, Any] = {**self._tables, "min_window_us": 5, "earlier": Earlier(DAY, nothing.frames, mark)}
        events = nothing.frames["events"]
        return Inputs(self._results, events, events, Observation(0, 1), given | {"closing": Closing("")} | options)


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(spark, str(tmp_path_factory.mktemp("out")))


def test_the_same_past_is_taken_over(fleet: Fleet) -> None:
    mark = fleet.inputs()["marks"][DAY]
    assert fleet.inputs(mark)["settled"] is not None
    assert fleet.inputs(f"{mark}1")["settled"] is None
    assert fleet.inputs(mark, earlier=fleet.inputs()["earlier"]._replace(day=""))["settled"] is None


def test_another_shortest_window_is_another_past(fleet: Fleet) -> None:
    assert fleet.inputs(min_window_us=6)["marks"] != fleet.inputs()["marks"]
