"""What a run comes to: findings, verdict, exit status, and the words for them. Plain values, no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.catalogue import FINDINGS
from rocketns.pipeline.contract.exits import STATUS, Verdict
from rocketns.pipeline.report.scripts import strict
from rocketns.pipeline.report.text import plural

# By kind of QUALITY. ``s``: the length of a silence in seconds.
FAULTS = {
    "corrupt": "{lines} of {ns} {do} not parse",
    "drop": "{ns} dropped {records} because its buffer was full",
    "hole": "{records} of {ns} {are} missing",
    "silent": "{ns} wrote nothing for the last {s:,.0f} s, and no stop record: it is down, or its files are missing",
    "unwatched": "nobody watched {ns} for the last {s:,.0f} s: what watches it from outside wrote nothing",
    "unknown": "the first state of {ns} is not known: its journal begins in the middle, before a whole snapshot",
}


class RunOutcome(NamedTuple):
    """``lines`` are for standard output. ``headline``: the first sentence of the page; ``listed``: how many incidents
    it lists; ``clocks``: a sentence for those that are not known well enough."""

    verdict: Verdict
    findings: Mapping[str, int]
    incomplete: Sequence[str]
    report: str
    headline: str = ""
    listed: int = 0
    clocks: Sequence[str] = ()

    @property
    def exit_status(self) -> int:
        return STATUS[self.verdict]

    @property
    def lines(self) -> list[str]:
        found_lines = [f"{count:8,}  {FINDINGS[name].words}" for name, count in self.findings.items() if count]
        missing = [f"incomplete: {sentence}" for sentence in self.incomplete]
        missing += [f"clocks: {sentence}" for sentence in self.clocks]
        heads = {
            Verdict.NOTHING: self._nothing(),
            Verdict.FINDINGS: "Found:",
            Verdict.INCOMPLETE: "Found in what is there:" if found_lines else "Nothing found in what is there.",
        }
        begin = [strict(self.headline)] if self.headline else []
        return [*begin, *missing, heads[self.verdict], *found_lines, f"report: {self.report}"]

    def _nothing(self) -> str:
        """A planned stop or restart is listed, and no finding."""
        if not self.listed:
            return "Nothing found."
        many = f"{plural(self.listed, 'incident')} that {'is' if self.listed == 1 else 'are'} none"
        return f"No finding, and {many}: a name server was stopped or restarted."


def incomplete(faults: Iterable[Any]) -> list[str]:
    """A sentence for each fault of the input; rows: kind, ns, n."""
    rows = sorted((row["ns"], row["kind"], row["n"]) for row in faults)
    return [FAULTS[kind].format(ns=ns, s=n / 1e6, **_counted(n)) + "." for ns, kind, n in rows]


def _counted(n: int) -> dict[str, str]:
    verbs = {"do": "does", "are": "is"} if n == 1 else {"do": "do", "are": "are"}
    return {"lines": plural(n, "line"), "records": plural(n, "record"), **verbs}


def unread(foreign: Mapping[str, int]) -> list[str]:
    """A sentence for each version of the journal that is not read. ``foreign``: files by version."""
    return [
        f"{plural(count, 'file')} of version {version} of the journal {'was' if count == 1 else 'were'} not read: this "
        f"audit reads version {VERSION}."
        for version, count in foreign.items()
    ]


def verdict(findings: Mapping[str, int], incomplete: Sequence[str]) -> Verdict:
    """Incomplete input comes first: with lost records, absence of a finding proves nothing."""
    if incomplete:
        return Verdict.INCOMPLETE
    return Verdict.FINDINGS if any(findings.values()) else Verdict.NOTHING
