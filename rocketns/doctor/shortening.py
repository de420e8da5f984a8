"""Bounds what is said: a name server may show any number of faults, and a reader reads the first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rocketns.doctor.finding import Finding, State
from rocketns.doctor.words import _

FINDINGS_MAX = 20  # of one check and one state
LINES_MAX = 100  # of evidence, and of commands, of one finding


def shortened(findings: Iterable[Finding]) -> tuple[list[Finding], Mapping[str, int]]:
    """The first findings of each check, in the order given, and how many more each check has."""
    seen: Counter[tuple[str, State]] = Counter()
    more: Counter[str] = Counter()
    kept: list[Finding] = []
    for one in findings:
        seen[one.check, one.state] += 1
        if seen[one.check, one.state] <= FINDINGS_MAX:
            kept.append(_with_fewer_lines(one))
        else:
            more[one.check] += 1
    return kept, more


def _with_fewer_lines(one: Finding) -> Finding:
    if max(len(one.evidence), len(one.commands)) <= LINES_MAX:
        return one
    return replace(one, evidence=_first(one.evidence, _("… and %(n)d more")),
                   commands=_first(one.commands, _("# … and %(n)d more")))  # fmt: skip


def _first(lines: tuple[str, ...], text: str) -> tuple[str, ...]:
    left = len(lines) - LINES_MAX
    return lines if left <= 0 else (*lines[:LINES_MAX], text % {"n": left})
