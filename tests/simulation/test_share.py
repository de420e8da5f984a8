"""A share of ``make simulate`` in every run of all tests."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.mutants.copy import ROOT

# Seeds 0 to 45 find all planted faults that 400 seeds find, but for one that needs seed 268: docs/simulation.md.
SEEDS = int(os.environ.get("ROCKETNS_SIMULATED_SEEDS") or 60)


@pytest.mark.timeout(600)
def test_every_invariant_holds() -> None:
    """The same seeds each time, so that a failure is of this change. `make simulate` runs others."""
    command = [sys.executable, "-m", "tests.simulation", "--seeds", str(SEEDS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
