"""The order in which findings are shown: the likeliest cause first."""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.finding import Finding, State

_STATES = {State.ILL: 0, State.UNKNOWN: 1, State.WELL: 2}
_PLACES = {check.name: place for place, check in enumerate(CHECKS)}


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """ILL before UNKNOWN before WELL; then by weight, then as in the table. A cause stands before what follows."""
    ordered = sorted(findings, key=_key)
    placed: dict[int, Finding] = {}
    led: set[tuple[str, frozenset[str]]] = set()  # what has all of its causes before it

    def place_causes(one: Finding) -> None:
        if (one.check, one.follows) in led:
            return
        led.add((one.check, one.follows))
        for cause in ordered:
            if cause.check in one.follows and cause.state is State.ILL and one.check not in cause.follows:
                placed.setdefault(id(cause), cause)

    for one in ordered:
        if id(one) not in placed:
            place_causes(one)
            placed[id(one)] = one
    return list(placed.values())


def _key(finding: Finding) -> tuple[int, int, int]:
    return _STATES[finding.state], -finding.weight, _PLACES.get(finding.check, len(_PLACES))
