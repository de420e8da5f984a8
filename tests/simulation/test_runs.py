"""A run depends on its seed alone, and a failing one is made small."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.check.source import ROOT
from tests.simulation import numbers
from tests.simulation.plan import Fault
from tests.simulation.shrinking import shrink
from tests.simulation.simulation import Case, Outcome


def replay(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    """The order of sets does not matter: memory addresses and hashes of texts have no influence."""
    first, second = replay("--seed", "5"), replay("--seed", "5")
    assert "digest" in first
    assert first == second


def test_only_the_faults_that_a_violation_needs_are_kept() -> None:
    needed = {1, 3}

    def run(case: Case) -> Outcome:
        is_bad = not needed & case.without and (case.seconds is None or case.seconds > 50)
        return Outcome(case, "(a) gone" if is_bad else None, 50.5, 1, 1)

    case = next(case for case in map(Case, range(100)) if len(case.plan()[1]) > max(needed))
    _, plan = case.plan()
    small = shrink(run(case), run)
    assert small.case.without == frozenset(range(len(plan))) - needed
    assert small.case.seconds == 51


def test_another_invariant_is_not_the_same_failure() -> None:
    """Shrinking keeps to the rule that failed first."""

    def run(case: Case) -> Outcome:
        return Outcome(case, "(b) stays" if case.without else "(a) gone", 60.0, 1, 1)

    assert shrink(run(Case(11)), run).case.without == frozenset()


@pytest.mark.parametrize(("text", "found"), [("", set()), ("4", {4}), ("1,3-5", {1, 3, 4, 5})])
def test_numbers_are_read_as_they_are_shown(text: str, found: set[int]) -> None:
    assert numbers.parsed(text) == found
    assert numbers.shown(found) == text


def test_a_plan_depends_on_its_seed_alone() -> None:
    assert Case(3).plan() == Case(3).plan()
    assert Case(3).plan() != Case(4).plan()
    assert all(isinstance(fault, Fault) for fault in Case(3).plan()[1])
