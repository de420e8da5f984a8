"""No test begins after the moment that CI names, and the run says which ones it left out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.running import alone
from tests.support.running.until import REASON, UNTIL

ROOT = Path(__file__).parents[1]
PLUGIN = """
import os
from tests.support.running.until import until_of
def pytest_configure(config):
    config.pluginmanager.register(until_of(os.environ))
"""
# What a test starts runs whole, pytest too.
TWO_TESTS = f"""
import os
def test_one(): assert "{UNTIL}" not in os.environ
def test_two(): pass
"""
HOUR_S = 3600


def run(folder: Path, until_s: float) -> str:
    """The output of a run of two tests, as few of pytest's plugins in it as can be."""
    (folder / "room").mkdir()
    (folder / "conftest.py").write_text(PLUGIN, "utf-8")
    (folder / "room" / "test_a.py").write_text(TWO_TESTS, "utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", UNTIL: str(until_s)}
    command = [sys.executable, "-m", "pytest", "--rootdir=.", "."]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


def test_tests_of_later_are_left_out_and_counted_by_their_folders(tmp_path: Path) -> None:
    said = run(tmp_path, time.time())
    assert f"2 TESTS LEFT OUT: {REASON}" in said
    assert "     2 room\n" in said
    assert "2 skipped" in said


def test_tests_of_before_run(tmp_path: Path) -> None:
    said = run(tmp_path, time.time() + HOUR_S)
    assert "2 passed" in said
    assert REASON not in said


def test_a_second_try_runs_whenever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str | None] = []

    def failing(_: list[str]) -> int:
        ends.append(os.environ.get(UNTIL))
        alone.LAST_FAILED.parent.mkdir(parents=True, exist_ok=True)
        alone.LAST_FAILED.write_text('{"test_a.py::test_one": true}', "utf-8")
        return pytest.ExitCode.TESTS_FAILED

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(UNTIL, "1")
    monkeypatch.setattr(alone, "_run", failing)
    assert alone.main([]) == pytest.ExitCode.TESTS_FAILED
    assert ends == ["1", None]
