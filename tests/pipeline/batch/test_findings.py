"""What a run counts as a finding, its verdict, exit status and sentences."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.batch.findings import RunOutcome, verdict
from rocketns.pipeline.batch.reporting import figures, noted, worded
from rocketns.pipeline.batch.reporting import findings as findings_in
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING, Verdict
from rocketns.pipeline.contract.frames import frame_of, plain_rows
from rocketns.pipeline.report.words.sources import clock_notes
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.stored import Delivered
from tests.pipeline.journals import SECOND as S

HOLE = "3 records of n1 are missing."


@pytest.mark.parametrize(
    ("findings", "incomplete", "expected", "status"),
    [
        ({"incidents": 0}, [], Verdict.NOTHING, EXIT_NOTHING),
        ({"incidents": 2}, [], Verdict.FINDINGS, EXIT_FINDINGS),
        ({"incidents": 0}, [HOLE], Verdict.INCOMPLETE, EXIT_INCOMPLETE),
        ({"incidents": 2}, [HOLE], Verdict.INCOMPLETE, EXIT_INCOMPLETE),
    ],
    ids=["nothing", "findings", "incomplete", "findings in incomplete input"],
)
def test_the_verdict_and_exit_status(
    findings: dict[str, int], incomplete: list[str], expected: Verdict, status: int
) -> None:
    outcome = RunOutcome(verdict(findings, incomplete), findings, incomplete, "report.html")
    assert (outcome.verdict, outcome.exit_status) == (expected, status)


def test_the_words_begin_with_the_headline_and_do_not_deny_it() -> None:
    """A planned stop is no finding. The page still begins with it."""
    stopped = RunOutcome(
        Verdict.NOTHING, {"incidents": 0}, [], "report.html", "ns-2 is stopped since 09:02 (still).", 1
    )
    assert stopped.lines == [
        "ns-2 is stopped since 09:02 (still).",
        "No finding, and 1 incident that is none: a name server was stopped or restarted.",
        "report: report.html",
    ]
    fine = RunOutcome(Verdict.NOTHING, {}, [], "report.html", "Nothing is wrong.")
    assert fine.lines == ["Nothing is wrong.", "Nothing found.", "report: report.html"]


DOUBTS = (None, LOST_RECORDS, CLOCKS)


class Tables:
    """Result tables by name; one that is not given is empty."""

    def __init__(self, spark: SparkSession, **rows: list[dict[str, Any]]) -> None:
        self._spark, self._rows = spark, rows

    def frame(self, name: str) -> DataFrame:
        schema = BY_NAME[name].schema
        told = [tuple(row.get(column) for column in schema.names) for row in self._rows.get(name, [])]
        return frame_of(self._spark, told, schema)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return plain_rows(self.frame(name))


def tables(spark: SparkSession, **rows: list[dict[str, Any]]) -> Results:
    return cast(Results, Tables(spark, **rows))


def test_doubtful_rows_count_neither_as_findings_nor_as_figures(spark: SparkSession) -> None:
    """But they have figures of their own. Misses of system topics are none either."""
    kinds = ("user", "system", "retry")
    results = tables(
        spark,
        incidents=[{"broker": "b", "doubt": doubt} for doubt in DOUBTS],
        key_windows=[{"topic": "t", "kind": "user", "doubt": doubt} for doubt in DOUBTS],
        missing_topics=[{"topic": kind, "topic_kind": kind} for kind in kinds],
        topics=[{"topic": kind, "kind": kind, "created": 1, "served": n} for n, kind in enumerate(kinds, 1)],
    )
    assert findings_in(results)["incidents"] == 1
    told = figures(results)
    names = ("incidents", "windows", "lost_incidents", "lost_windows", "clock_incidents", "clock_windows")
    assert [told[name] for name in names] == [1] * len(names)
    assert (told["missing_hours"], told["topics"], told["sole_topics"]) == (2, 1, 1)
    clocks = [{"ns": "n1", "method": "versions", "uncertainty": 1}, {"ns": "n3", "method": "none",
              "uncertainty": None}]  # fmt: skip
    days = [
        {"day": "2026-01-01", "ns": "n3", "method": "versions", "uncertainty": 1},
        *[{"day": "2026-01-02"} | row for row in clocks],
    ]
    notes = worded(noted(tables(spark, clock_days=days), 0), 7, Delivered(1, 250, {}), None)
    assert notes.keys() == {"clocks", "quality"}
    assert "250 records came more than once, 1 whole file among them" in notes["quality"][0]
    late = worded(noted(tables(spark), 2), 7, Delivered(0, 0, {}), None)
    assert "on 2 of the last 7 days" in late["topics"][0]


def test_clocks_that_nothing_bounds_are_said_with_what_follows() -> None:
    told = clock_notes([{"ns": ns, "method": "none", "uncertainty": None} for ns in ("n3", "n2")])
    assert len(told) == 1
    for fact in ("n2, n3", "off by 10 min at most", "not corrected", "marked “clocks”", "--clocks 1s"):
        assert fact in told[0]


def clock(ns: str, method: str, offset_s: float, uncertainty: int, samples: int = 0) -> dict[str, Any]:
    """A row of CLOCK_DAYS."""
    return {"ns": ns, "method": method, "offset": offset_s * S, "uncertainty": uncertainty, "samples": samples}
