"""Makes a failing case small: leaves out faults as long as it still fails, and ends it right after the violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.simulation.simulation import Case, Outcome

Run = Callable[[Case], Outcome]


def shrink(failed: Outcome, run: Run) -> Outcome:
    """The smallest failing outcome that was found. Its violation may be another sentence of the same invariant."""
    rule = rule_of(failed)
    best = _shorten(failed, run, rule)
    _, faults = best.case.plan()
    kept = [number for number in range(len(faults)) if number not in best.case.without]
    size = max(1, len(kept) // 2)
    while True:
        best, changed = _drop(best, kept, size, run, rule)
        kept = [number for number in kept if number not in best.case.without]
        if size == 1 and not changed:
            return _shorten(best, run, rule)
        size = max(1, size // 2)


def _drop(best: Outcome, kept: list[int], size: int, run: Run, rule: str) -> tuple[Outcome, bool]:
    """Leave out ``size`` faults at a time, the last ones first."""
    changed = False
    for start in range(len(kept) - size, -size, -size):
        some = kept[max(0, start) : start + size]
        tried = run(replace(best.case, without=best.case.without | frozenset(some)))
        if tried.violation is not None and rule_of(tried) == rule:
            best, changed = tried, True
    return best, changed


def _shorten(outcome: Outcome, run: Run, rule: str) -> Outcome:
    shorter = run(replace(outcome.case, seconds=int(outcome.at_s) + 1))
    return shorter if shorter.violation is not None and rule_of(shorter) == rule else outcome


def rule_of(outcome: Outcome) -> str:
    """The letter of the violated invariant; all other violations count as one rule."""
    text = outcome.violation or ""
    return text[:3] if text.startswith("(") else "other"
