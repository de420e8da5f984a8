"""A test that fails beside others runs once more, alone, and the run names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running.alone import FEW, ONCE, TITLE

ROOT = Path(__file__).parents[1]
# Fails where a file is not there yet, and makes it.
ONLY_FIRST = """
import pathlib, pytest
@pytest.mark.parametrize("number", range({count}))
def test_one(number):
    seen = pathlib.Path(f"seen{{number}}")
    was_there = seen.exists()
    seen.touch()
    assert was_there
"""
ALWAYS = "def test_two():\n    assert False\n"


def run(folder: Path, files: dict[str, str]) -> tuple[int, str]:
    """Exit status and output of a run of these files, with as few of pytest's plugins as can be."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "tests.support.running.alone", "-p", "xdist.plugin", "-n", "0", "--rootdir=.", "."]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def test_a_test_that_passes_alone_does_not_fail_the_run_which_names_it(tmp_path: Path) -> None:
    status, said = run(tmp_path, {"test_a.py": ONLY_FIRST.format(count=FEW)})
    assert status == 0
    assert said.endswith(f"{TITLE}\n" + "".join(f"test_a.py::test_one[{number}]\n" for number in range(FEW)))


@pytest.mark.parametrize(
    "files",
    [{"test_a.py": ALWAYS}, {"test_a.py": ONLY_FIRST.format(count=1) + ALWAYS}, {"test_a.py": "import nothing_such"}],
    ids=["alone, too", "one of two alone, too", "no import"],
)
def test_what_fails_alone_too_fails_the_run(tmp_path: Path, files: dict[str, str]) -> None:
    status, said = run(tmp_path, files)
    assert status != 0
    assert TITLE not in said


@pytest.mark.parametrize("path", ["test_a.py", f"{ONCE}test_a.py"], ids=["too many", "a comparison with Java"])
def test_there_is_no_second_try_for(tmp_path: Path, path: str) -> None:
    count = 1 if path.startswith(ONCE) else FEW + 1
    status, said = run(tmp_path, {path: ONLY_FIRST.format(count=count)})
    assert status == 1
    assert f"{count} failed" in said
    assert "once more, alone" not in said


def test_a_run_without_a_failure_is_over(tmp_path: Path) -> None:
    assert run(tmp_path, {"test_a.py": "def test_one():\n    pass\n"})[0] == 0
