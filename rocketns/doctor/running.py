"""Runs the checks on the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.ranking import ranked
from rocketns.doctor.shortening import shortened
from rocketns.doctor.words import _

EXIT_WELL, EXIT_ILL, EXIT_CANNOT_TELL = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Report:
    """``findings`` in the order to show them; one at least of each check that ran. ``skipped``: names of the others.

    ``more``: how many findings of a check are left out, because it has too many.
    """

    facts: Facts
    findings: Sequence[Finding]
    skipped: Sequence[str]
    more: Mapping[str, int] = field(default_factory=dict)

    def of(self, state: State) -> list[Finding]:
        """The findings of one state, in order."""
        return [one for one in self.findings if one.state is state]

    @property
    def exit_status(self) -> int:
        if self.of(State.ILL):
            return EXIT_ILL
        return EXIT_CANNOT_TELL if any(one.matters for one in self.of(State.UNKNOWN)) else EXIT_WELL


def run(facts: Facts) -> Report:
    """The report of all checks."""
    findings: list[Finding] = []
    for check in CHECKS:
        if check.applies(facts):
            well = Finding(check.name, State.WELL, _(check.about))
            findings += list(check.run(facts)) or [well]
    skipped = [check.name for check in CHECKS if not check.applies(facts)]
    kept, more = shortened(ranked(findings))
    return Report(facts, kept, skipped, more)
