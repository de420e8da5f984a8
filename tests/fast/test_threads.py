"""The assertions that a function runs on its thread are in the sanitizers' builds, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns._fast.reactor import reactors, turns
from rocketns._fast.routes import routes

ASSERTION = b"rocketns: wrong thread"


@pytest.mark.parametrize("module", [reactors, turns, routes])
def test_an_ordinary_build_has_none(module: object) -> None:
    """`python -m tests.sanitize` shows that they find a call on a wrong thread (tests/sanitize/inside.py)."""
    file = Path(str(module.__file__))  # type: ignore[attr-defined]
    assert (ASSERTION in file.read_bytes()) == ("sanitize" in file.parts)
