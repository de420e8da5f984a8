"""Runs the checks on the facts, and puts what they found in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.facts import FleetFacts
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import _

EXIT_WELL, EXIT_ILL, EXIT_CANNOT_TELL = 0, 1, 2

_STATES = {Health.ILL: 0, Health.UNKNOWN: 1, Health.WELL: 2}
_PLACES = {check.name: place for place, check in enumerate(CHECKS)}

FINDINGS_MAX = 20  # of one check and one state
LINES_MAX = 100  # of evidence, and of commands, of one finding


@dataclass(frozen=True, slots=True)
class Report:
    """``findings`` in the order to show them; one at least of each check that ran. ``skipped``: names of the others.

    ``more``: how many findings of a check are left out, because it has too many.
    """

    facts: FleetFacts
    findings: Sequence[Diagnosis]
    skipped: Sequence[str]
    more: Mapping[str, int] = field(default_factory=dict)

    def of(self, state: Health) -> list[Diagnosis]:
        """The findings of one state, in order."""
        return [one for one in self.findings if one.state is state]

    @property
    def exit_status(self) -> int:
        if self.of(Health.ILL):
            return EXIT_ILL
        return EXIT_CANNOT_TELL if any(one.matters for one in self.of(Health.UNKNOWN)) else EXIT_WELL


def run(facts: FleetFacts) -> Report:
    """The report of all checks."""
    findings: list[Diagnosis] = []
    for check in CHECKS:
        if check.applies(facts):
            well = Diagnosis(check.name, Health.WELL, _(check.about))
            findings += list(check.run(facts)) or [well]
    skipped = [check.name for check in CHECKS if not check.applies(facts)]
    kept, more = shortened(ranked(findings))
    return Report(facts, kept, skipped, more)


def ranked(findings: Iterable[Diagnosis]) -> list[Diagnosis]:
    """ILL before UNKNOWN before WELL; then by weight, then as in the table. A cause stands before what follows."""
    ordered = sorted(findings, key=_key)
    placed: dict[int, Diagnosis] = {}
    led: set[tuple[str, frozenset[str]]] = set()  # what has all of its causes before it

    def place_causes(one: Diagnosis) -> None:
        if (one.check, one.follows) in led:
            return
        led.add((one.check, one.follows))
        for cause in ordered:
            if cause.check in one.follows and cause.state is Health.ILL and one.check not in cause.follows:
                placed.setdefault(id(cause), cause)

    for one in ordered:
        if id(one) not in placed:
            place_causes(one)
            placed[id(one)] = one
    return list(placed.values())


def _key(finding: Diagnosis) -> tuple[int, int, int]:
    return _STATES[finding.state], -finding.weight, _PLACES.get(finding.check, len(_PLACES))


def shortened(findings: Iterable[Diagnosis]) -> tuple[list[Diagnosis], Mapping[str, int]]:
    """The first findings of each check, in the order given, and how many more each check has."""
    seen: Counter[tuple[str, Health]] = Counter()
    more: Counter[str] = Counter()
    kept: list[Diagnosis] = []
    for one in findings:
        seen[one.check, one.state] += 1
        if seen[one.check, one.state] <= FINDINGS_MAX:
            kept.append(_with_fewer_lines(one))
        else:
            more[one.check] += 1
    return kept, more


def _with_fewer_lines(one: Diagnosis) -> Diagnosis:
    if max(len(one.evidence), len(one.commands)) <= LINES_MAX:
        return one
    return replace(one, evidence=_first(one.evidence, _("… and %(n)d more")),
                   commands=_first(one.commands, _("# … and %(n)d more")))  # fmt: skip


def _first(lines: tuple[str, ...], text: str) -> tuple[str, ...]:
    left = len(lines) - LINES_MAX
    return lines if left <= 0 else (*lines[:LINES_MAX], text % {"n": left})


def verdict(report: Report) -> str:
    """The likeliest cause, what cannot be told, or that all is well."""
    if ill := report.of(Health.ILL):
        words = {"sentence": ill[0].sentence, "topics": _(", ").join(report.facts.options.topics)}
        if ill[0].weight >= Weight.PARTLY:
            return _("Most likely: %(sentence)s") % words
        if report.facts.options.topics:
            return _("Nothing found here keeps clients of %(topics)s from working, but: %(sentence)s") % words
        return _("No client fails because of it, but: %(sentence)s") % words
    if unknown := report.of(Health.UNKNOWN):
        return _("Nothing wrong was found, but: %(sentence)s") % {"sentence": unknown[0].sentence}
    count = len({one.check for one in report.findings})
    return _.plural("All is well: %(n)d check found nothing wrong.", "All is well: %(n)d checks found nothing wrong.",
                    count) % {"n": count}  # fmt: skip
