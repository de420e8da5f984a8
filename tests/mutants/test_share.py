"""Three planted faults of Python code that the run draws: the tests of their rooms notice each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.mutants.__main__ import Copy, faults

PLANTED = 3
pytestmark = pytest.mark.slow


def test_planted_faults_are_noticed(tmp_path: Path) -> None:
    """pytest-randomly seeds the draw and prints its seed."""
    copy = Copy(tmp_path)
    drawn = random.sample([fault for fault in faults() if not fault.is_compiled], PLANTED)
    assert [fault.name for fault in drawn if not copy.catches(fault)] == []


def test_every_fault_can_be_planted() -> None:
    root = Path(__file__).parents[2]
    assert [one.name for one in faults() if (root / one.file).read_text("utf-8").count(one.old) != 1] == []
