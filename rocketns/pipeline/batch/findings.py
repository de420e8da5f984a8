"""What a run comes to: findings, verdict, exit status, and the words for them. Plain values, no Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.catalogue import FINDINGS
from rocketns.pipeline.contract.exits import STATUS, Verdict
from rocketns.pipeline.report.text import strict
from rocketns.pipeline.saying import _


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
        found_lines = [f"{count:8,}  {_(FINDINGS[name].words)}" for name, count in self.findings.items() if count]
        missing = [_("incomplete: %(reason)s") % {"reason": sentence} for sentence in self.incomplete]
        missing += [_("clocks: %(note)s") % {"note": sentence} for sentence in self.clocks]
        heads = {
            Verdict.NOTHING: self._nothing(),
            Verdict.FINDINGS: _("Found:"),
            Verdict.INCOMPLETE: _("Found in what is there:") if found_lines else _("Nothing found in what is there."),
        }
        begin = [strict(self.headline)] if self.headline else []
        return [*begin, *missing, heads[self.verdict], *found_lines, _("report: %(path)s") % {"path": self.report}]

    def _nothing(self) -> str:
        """A planned stop or restart is listed, and no finding."""
        if not self.listed:
            return _("Nothing found.")
        return _.plural(
            "No finding, and %(n)s incident that is none: a name server was stopped or restarted.",
            "No finding, and %(n)s incidents that are none: a name server was stopped or restarted.",
            self.listed,
        ) % {"n": f"{self.listed:,}"}


def incomplete(faults: Iterable[Any]) -> list[str]:
    """A sentence for each kind of fault of each name server's input; rows: kind, ns, n."""
    sums = Counter[tuple[str, str]]()
    for row in faults:
        sums[row["ns"], row["kind"]] += row["n"]
    in_order = ((ns, kind, n) for (ns, kind), n in sorted(sums.items()))
    return [FAULTS[kind](n) % {"ns": ns, "n": f"{n:,}", "s": f"{n / 1e6:,.0f}"} for ns, kind, n in in_order]


# By kind of QUALITY, the sentence for n of them. ``s``: the length of a silence in seconds, of which ``n`` is us.
FAULTS: Mapping[str, Callable[[int], str]] = {
    "corrupt": lambda n: _.plural("%(n)s line of %(ns)s does not parse.", "%(n)s lines of %(ns)s do not parse.", n),
    "drop": lambda n: _.plural(
        "%(ns)s dropped %(n)s record because its buffer was full.",
        "%(ns)s dropped %(n)s records because its buffer was full.",
        n,
    ),
    "hole": lambda n: _.plural("%(n)s record of %(ns)s is missing.", "%(n)s records of %(ns)s are missing.", n),
    "silent": lambda _n: _(
        "%(ns)s wrote nothing for the last %(s)s s, and no stop record: it is down, or its files are missing."
    ),
    "unwatched": lambda _n: _(
        "nobody watched %(ns)s for the last %(s)s s: what watches it from outside wrote nothing."
    ),
    "unknown": lambda _n: _(
        "the first state of %(ns)s is not known: its journal begins in the middle, before a whole snapshot."
    ),
}


def unread(foreign: Mapping[str, int]) -> list[str]:
    """A sentence for each version of the journal that is not read. ``foreign``: files by version."""
    return [
        _.plural(
            "%(n)s file of version %(version)s of the journal was not read: this audit reads version %(known)s.",
            "%(n)s files of version %(version)s of the journal were not read: this audit reads version %(known)s.",
            count,
        )
        % {"n": f"{count:,}", "version": version, "known": VERSION}
        for version, count in foreign.items()
    ]


def verdict(findings: Mapping[str, int], incomplete: Sequence[str]) -> Verdict:
    """Incomplete input comes first: with lost records, absence of a finding proves nothing."""
    if incomplete:
        return Verdict.INCOMPLETE
    return Verdict.FINDINGS if any(findings.values()) else Verdict.NOTHING
