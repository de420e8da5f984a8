"""The outcome of a run: its verdict, exit status and words. No Spark."""

from __future__ import annotations

import pytest

from rocketns.pipeline.batch.findings import RunOutcome, verdict
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING, Verdict

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


def test_findings_in_incomplete_input_are_listed_behind_what_is_missing() -> None:
    outcome = RunOutcome(Verdict.INCOMPLETE, {"incidents": 2, "flaps": 0}, [HOLE], "report.html")
    first, head, found, report = outcome.lines
    assert (first, head, report) == (f"incomplete: {HOLE}", "Found in what is there:", "report: report.html")
    assert found.split()[:2] == ["2", "divergences:"]
    nothing = RunOutcome(Verdict.INCOMPLETE, {"incidents": 0}, [HOLE], "report.html")
    assert nothing.lines[1] == "Nothing found in what is there."
