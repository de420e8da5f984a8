"""What a run comes to: findings, verdict, exit status, and the words for them. Plain values, no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rocketns.pipeline.cli.arguments import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING
from rocketns.pipeline.report.model import Verdict

# What each count is of, in the order in which they are told. Dead and uneven topics are none: nothing went wrong.
NAMES = {
    "incidents": "incidents in which name servers disagreed about routes",
    "departures": "departures of brokers that were not graceful",
    "flaps": "flaps: brokers that failed and came back within ten minutes",
    "killed": "name servers that ended without a stop",
    "missing_topics": "hours with unusually many look-ups of a topic that does not exist",
}
# Of each kind of QUALITY; ``n`` of a silence is its length.
FAULTS = {
    "corrupt": "{n:,} lines of {ns} do not parse",
    "drop": "{ns} gave up {n:,} records because its buffer was full",
    "hole": "{n:,} records of {ns} are missing",
    "silent": "{ns} wrote nothing for the last {s:,.0f} s, and no stop: it is down, or its files are not here",
    "unknown": "the state of {ns} is not known at first: its journal begins in the middle, before a whole snapshot",
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


def incomplete(faults: Iterable[Any]) -> list[str]:
    """A sentence for each fault of the input; rows: kind, ns, n."""
    rows = sorted((row["ns"], row["kind"], row["n"]) for row in faults)
    return [FAULTS[kind].format(ns=ns, n=n, s=n / 1e6) + "." for ns, kind, n in rows]


def verdict(findings: Mapping[str, int], incomplete: Sequence[str]) -> Verdict:
    """Incomplete input comes first: what was not found there may have happened all the same."""
    if incomplete:
        return Verdict.INCOMPLETE
    return Verdict.FINDINGS if any(findings.values()) else Verdict.NOTHING
