"""A share of ``make simulate`` in every run of all tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.check.source import ROOT

SEEDS = 10


@pytest.mark.parametrize("first", range(0, 60, SEEDS))
def test_every_invariant_holds(first: int) -> None:
    """The same seeds each time, so that a failure is of this change. `make simulate` runs others.

    Each in a process of its own: the order of sets of texts is part of a run.
    """
    command = [sys.executable, "-m", "tests.simulation", "--first", str(first), "--seeds", str(SEEDS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
