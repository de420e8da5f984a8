"""What a run counts where records may be lost, and what it says of clocks and of records that came again."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.batch.reporting import figures, findings, notes
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.report.words.clocks import clock_notes, given_notes
from rocketns.pipeline.storage.events.stored import Delivered
from rocketns.pipeline.storage.results import Results
from tests.pipeline.journals import SECOND as S

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


def test_doubtful_rows_count_neither_as_findings_nor_as_figures(spark: SparkSession) -> None:
    """But it has figures of its own."""
    results = tables(
        spark,
        incidents=[{"broker": "b", "doubt": doubt} for doubt in DOUBTS],
        key_windows=[{"topic": "t", "kind": "user", "doubt": doubt} for doubt in DOUBTS],
    )
    assert findings(results)["incidents"] == 1
    told = figures(results)
    names = ("incidents", "windows", "lost_incidents", "lost_windows", "clock_incidents", "clock_windows")
    assert [told[name] for name in names] == [1] * len(names)


def test_figures_of_hours_and_of_moved_keys_leave_out_system_topics(spark: SparkSession) -> None:
    kinds = ("user", "system", "retry")
    told = figures(tables(
        spark,
        missing_topics=[{"topic": kind, "topic_kind": kind} for kind in kinds],
        ordered_keys=[{"topic": kind, "kind": kind} for kind in kinds],
    ))  # fmt: skip
    assert (told["missing_hours"], told["ordered_topics"]) == (2, 1)


@pytest.mark.parametrize(
    ("clocks", "said"),
    [
        (
            [("n2", "heartbeats", 30_000_000)],
            "The clock of n2 is known only up to a multiple of 30 s: too few brokers changed their data version, and "
            "heartbeats repeat. It is taken to be off by 10 min at most.",
        ),
        (
            [("n3", "heartbeats", 30_000_000), ("n2", "heartbeats", 30_000_000)],
            "The clocks of n2, n3 are known only up to a multiple of 30 s: too few brokers changed their data version, "
            "and heartbeats repeat. They are taken to be off by 10 min at most.",
        ),
        (
            [("n2", "none", None)],
            "Nothing shows how far the clock of n2 is off, since no broker was heard there and at another name server "
            "at the same time. Times of n2 were not corrected.",
        ),
    ],
    ids=["heartbeats", "two", "no samples"],
)
def test_clocks_that_nothing_bounds_are_said_with_what_follows(
    clocks: list[tuple[str, str, int | None]], said: str
) -> None:
    [told] = clock_notes([{"ns": ns, "method": method, "uncertainty": us} for ns, method, us in clocks])
    assert told.startswith(said)
    assert "Differences that clocks alone may explain are not counted. They are marked “clocks”." in told
    assert told.endswith("such as --clocks 1s.")


def test_a_clock_that_was_measured_to_be_off_by_more_than_the_option_says_is_noted() -> None:
    clocks = [clock("n1", "versions", 12, 20_000), clock("n2", "versions", 1, 20_000), clock("n3", "given", 0, 2 * S)]
    assert clock_notes(clocks, 2 * S) == [
        "The clock of n1 was measured to be 12 s off, more than the 2 s that the option --clocks says. What was "
        "measured counts."
    ]


def test_clocks_that_only_the_option_bounds_are_named() -> None:
    clocks = [
        clock("n1", "reference", 0, 0), clock("n2", "given", 0, 2 * S), clock("n3", "observed", 0, 2 * S),
        clock("n4", "observed", 1, 5 * S, samples=9), clock("n5", "observed", 0, 0),
    ]  # fmt: skip
    assert given_notes(clocks, None) == []
    assert given_notes(clocks, 2 * S) == [
        "The clocks of n2, n3 and of the reference are taken to differ by 2 s at most, as the option --clocks says. "
        "The journals show nothing better."
    ]


def clock(ns: str, method: str, offset_s: float, uncertainty: int, samples: int = 0) -> dict[str, Any]:
    """A row of OFFSETS."""
    return {"ns": ns, "method": method, "offset": offset_s * S, "uncertainty": uncertainty, "samples": samples}


def test_only_clocks_without_versions_are_noted(spark: SparkSession) -> None:
    clocks = [
        ("n1", "reference", 0), ("n2", "versions", 1_000), ("n3", "heartbeats", 30_000_000), ("n4", "none", None),
        ("n5", "heartbeats", 60_000_000),
    ]  # fmt: skip
    offsets = [{"ns": ns, "method": method, "uncertainty": within} for ns, method, within in clocks]
    told = notes(tables(spark, clock_offsets=offsets), 7, Delivered(0, 0, {}))
    assert [re.findall("n[0-9]", note)[0] for note in told["clocks"]] == ["n3", "n5", "n4"]
    assert set(told) == {"clocks"}


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
