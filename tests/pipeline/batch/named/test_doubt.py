"""What a run counts where records may be lost, and what it says of clocks and of records that came again."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.batch.reporting import clock_note, figures, findings, notes
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.storage.events.stored import Delivered
from rocketns.pipeline.storage.results import Results

DOUBTS = (None, LOST_RECORDS, CLOCKS)


class Tables:
    """Result tables by name; one that is not given is empty."""

    def __init__(self, spark: SparkSession, **rows: list[dict[str, Any]]) -> None:
        self._spark, self._rows = spark, rows

    def frame(self, name: str) -> DataFrame:
        schema = BY_NAME[name].schema
        told = [tuple(row.get(column) for column in schema.names) for row in self._rows.get(name, [])]
        return frame_of(self._spark, told, schema)


def tables(spark: SparkSession, **rows: list[dict[str, Any]]) -> Results:
    return cast(Results, Tables(spark, **rows))


def test_what_may_be_lost_records_is_counted_neither_as_finding_nor_as_figure(spark: SparkSession) -> None:
    """But it has a figure of its own, as have the windows that clocks may explain. These count."""
    results = tables(
        spark,
        incidents=[{"broker": "b", "doubt": doubt} for doubt in DOUBTS],
        key_windows=[{"topic": "t", "kind": "user", "doubt": doubt} for doubt in DOUBTS],
    )
    assert findings(results)["incidents"] == 2
    told = figures(results)
    assert (told["incidents"], told["windows"], told["lost_windows"], told["clock_windows"]) == (2, 2, 1, 1)


def test_figures_of_hours_and_of_moved_keys_leave_out_system_topics(spark: SparkSession) -> None:
    kinds = ("user", "system", "retry")
    told = figures(tables(
        spark,
        missing_topics=[{"topic": kind, "topic_kind": kind} for kind in kinds],
        ordered_keys=[{"topic": kind, "kind": kind} for kind in kinds],
    ))  # fmt: skip
    assert (told["missing_hours"], told["ordered_topics"]) == (2, 1)


@pytest.mark.parametrize(
    ("uncertainty", "said"),
    [
        (
            None,
            "The clock of n2 was not corrected: this name server heard no broker at the same time as another one, so "
            "nothing shows how far its clock is off.",
        ),
        (
            30_000_000,
            "Too few brokers changed their data version to compare the clock of n2. Its offset is estimated from "
            "heartbeats. They repeat every 30 s, so it may be off by 30 s more.",
        ),
    ],
    ids=["no samples", "heartbeats"],
)
def test_a_clock_that_nothing_bounds_is_said_with_what_depends_on_it(uncertainty: int | None, said: str) -> None:
    told = clock_note({"ns": "n2", "uncertainty": uncertainty})
    assert told.startswith(said)
    assert told.endswith("are marked “clocks”.")


def test_only_clocks_without_versions_are_noted(spark: SparkSession) -> None:
    clocks = [("n1", "reference", 0), ("n2", "versions", 1_000), ("n3", "heartbeats", 30_000_000), ("n4", "none", None)]
    offsets = [{"ns": ns, "method": method, "uncertainty": within} for ns, method, within in clocks]
    told = notes(tables(spark, clock_offsets=offsets), 7, Delivered(0, 0, {}))
    assert [note.split(" clock of ")[1][:2] for note in told["divergence"]] == ["n3", "n4"]
    assert set(told) == {"divergence"}


@pytest.mark.parametrize(
    ("copies", "repeated", "said"),
    [
        (1, 250, "250 records came more than once, 1 whole file among them. Each record counts once."),
        (0, 1, "1 record came more than once. Each record counts once."),
    ],
)
def test_records_that_came_again_are_noted_with_the_data_quality(
    spark: SparkSession, copies: int, repeated: int, said: str
) -> None:
    assert notes(tables(spark), 7, Delivered(copies, repeated, {})) == {"quality": [said]}
