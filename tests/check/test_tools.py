"""The linters and the type checker that everybody knows; pyproject.toml says what they ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.source import ROOT

BIN = Path(sys.executable).parent
COMMANDS = {
    "ruff check": [],
    "ruff format": ["--check"],
    "mypy": [],
    "lint-imports": [],
    "deptry": ["rocketns"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_it_finds_nothing(command: str) -> None:
    program, *words = command.split()
    result = subprocess.run(
        [BIN / program, *words, *COMMANDS[command]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
