"""The linters and the type checker as tests, so that one command runs all checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.source import ROOT

# ERA001: code that was commented out.
RUFF = ["ruff", "check", "--no-cache", "--extend-select", "ERA001", "--output-format", "concise"]
COMMANDS = (RUFF, ["ruff", "format", "--check"], ["mypy"])


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_has_nothing_to_say(command: list[str]) -> None:
    result = run(command, ROOT)
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize(
    ("text", "code"),
    [("# value = compute(1)\n", "ERA001"), ("import os\n", "F401"), ("from . import b\n\nb()\n", "TID252")],
)
def test_ruff_catches_a_planted_violation(tmp_path: Path, text: str, code: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(text, "utf-8")
    result = run([*RUFF, "--config", str(ROOT / "pyproject.toml"), str(planted)], tmp_path)
    assert result.returncode == 1
    assert code in result.stdout


def test_mypy_catches_a_planted_violation(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("def f(a) -> int:\n    return a\n", "utf-8")
    result = run(["mypy", "--config-file", str(ROOT / "pyproject.toml"), str(planted)], tmp_path)
    assert result.returncode == 1
    assert "no-untyped-def" in result.stdout
