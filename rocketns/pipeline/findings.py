"""What a run comes to: findings, verdict, exit status, and the words for them. Plain values, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rocketns.pipeline.arguments import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING
from rocketns.pipeline.report.model import Verdict

# What each count is of, in the order in which they are told. Dead and uneven topics are none: nothing went wrong.
NAMES = {
    "incidents": "incidents in which name servers disagreed about routes",
    "departures": "departures of brokers that were not graceful",
    "flaps": "flaps: brokers that failed and came back within ten minutes",
    "killed": "name servers that ended without a stop",
    "missing_topics": "hours with unusually many look-ups of a topic that does not exist",
}
STATUS = {
    Verdict.NOTHING: EXIT_NOTHING,
    Verdict.FINDINGS: EXIT_FINDINGS,
    Verdict.INCOMPLETE: EXIT_INCOMPLETE,
}


class Outcome(NamedTuple):
    """``lines`` are for standard output."""

    verdict: Verdict
    findings: Mapping[str, int]
    incomplete: Sequence[str]
    report: str

    @property
    def exit_status(self) -> int:
        return STATUS[self.verdict]

    @property
    def lines(self) -> list[str]:
        found = [f"{count:8,}  {NAMES[name]}" for name, count in self.findings.items() if count]
        missing = [f"incomplete: {sentence}" for sentence in self.incomplete]
        heads = {
            Verdict.NOTHING: "Nothing found.",
            Verdict.FINDINGS: "Found:",
            Verdict.INCOMPLETE: "Found in what is there:" if found else "Nothing found in what is there.",
        }
        return [*missing, heads[self.verdict], *found, f"report: {self.report}"]


def verdict(findings: Mapping[str, int], incomplete: Sequence[str]) -> Verdict:
    """Incomplete input comes first: what was not found there may have happened all the same."""
    if incomplete:
        return Verdict.INCOMPLETE
    return Verdict.FINDINGS if any(findings.values()) else Verdict.NOTHING
