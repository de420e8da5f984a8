"""What a run counts as a finding, its verdict, exit status and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.reporting import ReportFacts, RunOutcome, numbers_of, sentences, verdict
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.terms import (
    CLOCKS,
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_NOTHING,
    LOST_RECORDS,
    AuditVerdict,
)
from rocketns.pipeline.report.words.names import clock_notes
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.stored import Delivered
from tests.pipeline.journals import SECOND as S

HOLE = "3 records of n1 are missing."


@pytest.mark.parametrize(
    ("findings", "incomplete", "expected", "status"),
    [
        ({"divergences": 0}, [], AuditVerdict.NOTHING, EXIT_NOTHING),
        ({"divergences": 2}, [], AuditVerdict.FINDINGS, EXIT_FINDINGS),
        ({"divergences": 0}, [HOLE], AuditVerdict.INCOMPLETE, EXIT_INCOMPLETE),
        ({"divergences": 2}, [HOLE], AuditVerdict.INCOMPLETE, EXIT_INCOMPLETE),
    ],
    ids=["nothing", "findings", "incomplete", "findings in incomplete input"],
)
def test_the_verdict_and_exit_status(
    findings: dict[str, int], incomplete: list[str], expected: AuditVerdict, status: int
) -> None:
    outcome = RunOutcome(verdict(findings, incomplete), findings, incomplete, "report.html")
    assert (outcome.verdict, outcome.exit_status) == (expected, status)


def test_the_words_begin_with_the_headline_and_do_not_deny_it() -> None:
    """A planned stop is no finding. The page still begins with it."""
    stopped = RunOutcome(
        AuditVerdict.NOTHING, {"divergences": 0}, [], "report.html", "ns-2 is stopped since 09:02 (still).", 1
    )
    assert stopped.lines == [
        "ns-2 is stopped since 09:02 (still).",
        "No finding. Incidents that are none, since a name server was stopped or restarted: 1.",
        "report: report.html",
    ]
    fine = RunOutcome(AuditVerdict.NOTHING, {}, [], "report.html", "Nothing is wrong.")
    assert fine.lines == ["Nothing is wrong.", "Nothing found.", "report: report.html"]


DOUBTS = (None, LOST_RECORDS, CLOCKS)


def tables(spark: SparkSession, folder: Path, **rows: list[dict[str, Any]]) -> Results:
    """Result tables by name; one that is not given is empty."""
    results = Results(spark, folder_at(spark, str(folder)))
    results.small = True
    for name, job in BY_NAME.items():
        told = [tuple(row.get(column) for column in job.schema.names) for row in rows.get(name, [])]
        results.save(name, frame_of(spark, told, job.schema))
    return results


def test_doubtful_rows_count_neither_as_findings_nor_as_figures(spark: SparkSession, tmp_path: Path) -> None:
    """But they have figures of their own. Misses of system topics are none either."""
    kinds = ("user", "system", "retry")
    results = tables(
        spark,
        tmp_path,
        divergences=[{"broker": "b", "doubt": doubt} for doubt in DOUBTS],
        key_windows=[{"topic": "t", "kind": "user", "doubt": doubt} for doubt in DOUBTS],
        missing_topics=[{"topic": kind, "topic_kind": kind} for kind in kinds],
        topics=[{"topic": kind, "kind": kind, "created": 1, "served": n} for n, kind in enumerate(kinds, 1)],
    )
    counts, figures = numbers_of(results)
    assert (counts["divergences"], counts["missing_topics"]) == (1, 2)
    names = ("divergences", "lost_divergences", "clock_divergences", "clock_windows")
    assert [figures[name] for name in names] == [1] * len(names)
    assert (figures["topics"], figures["sole_topics"]) == (1, 1)
    clocks: list[dict[str, Any]] = [{"ns": "n1", "method": "versions", "uncertainty": 1}, {"ns": "n3", "method": "none",
              "uncertainty": None}]  # fmt: skip
    days = [
        {"day": "2026-01-01", "ns": "n3", "method": "versions", "uncertainty": 1},
        *[{"day": "2026-01-02"} | row for row in clocks],
    ]
    seen, told = Observation(0, 1), ReportFacts(None, 7, None, 2)
    notes = sentences(tables(spark, tmp_path / "clocks", clock_days=days), seen, told, Delivered(1, 250, {})).notes
    assert notes.keys() == {"clocks", "quality", "topics"}
    assert "more than once, and count once: 250. Whole files among them: 1." in notes["quality"][0]
    assert "on 2 of the last 7 days" in notes["topics"][0]


def test_clocks_that_nothing_bounds_are_said_with_what_follows() -> None:
    told = clock_notes([{"ns": ns, "method": "none", "uncertainty": None} for ns in ("n3", "n2")])
    assert len(told) == 1
    for fact in ("n2, n3", "off by 10 min at most", "not corrected", "marked “clocks”", "--clocks 1s"):
        assert fact in told[0]


def clock(ns: str, method: str, offset_s: float, uncertainty: int, samples: int = 0) -> dict[str, Any]:
    """A row of CLOCK_DAYS."""
    return {"ns": ns, "method": method, "offset": offset_s * S, "uncertainty": uncertainty, "samples": samples}
