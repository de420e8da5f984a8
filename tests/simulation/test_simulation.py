"""A share of ``make simulate`` in every run of all tests, and what a run depends on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.check.source import ROOT

SEEDS = 10


def simulate(*arguments: object) -> str:
    """In a process of its own: the order of sets of texts is part of a run."""
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("first", range(0, 60, SEEDS))
def test_every_invariant_holds(first: int) -> None:
    """The same seeds each time, so that a failure is of this change. `make simulate` runs others."""
    simulate("--first", first, "--seeds", SEEDS)


def test_the_audit_finds_what_happened_and_nothing_else() -> None:
    """`make simulate ARGS="--audit --seeds N"` takes more seeds."""
    assert ": 0" not in simulate("--audit", "--seeds", 6), "a table had no row in any seed"


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    """Memory addresses and hashes of texts have no influence."""
    first, second = simulate("--seed", 5), simulate("--seed", 5)
    assert "digest" in first
    assert first == second
