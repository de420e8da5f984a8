"""`make test` leaves out what the table of tests/support/running/rest.py names, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.running.rest import LEAVES_OUT, REST, SHARE, Rest, why_later

ROOT = Path(__file__).parents[1]
SANITIZED, CHEAP = "tests/sanitize/test_share.py", "tests/sanitize/test_sanitize.py"
# One test of each kind that `make test` promises to run.
PROMISED = (
    *SHARE,
    "interop/parity/test_scenarios.py",
    "tests/pipeline/batch/test_twins.py",
    "tests/restoring/test_restart.py",
    "tests/simulation/test_share.py",
    "tests/hostile/bytes/test_garbage.py",
)


def collected(*choice: str) -> str:
    """What pytest prints of the tests of the sanitizers that it would run."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", *choice, "tests/sanitize"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_tests_of_the_table_are_left_out_and_counted() -> None:
    said = collected("-m", LEAVES_OUT)
    assert SANITIZED not in said
    assert CHEAP in said
    assert "2 TESTS LEFT OUT; make test-all runs them too" in said
    assert f"     2 {REST[SANITIZED]}\n" in said


@pytest.mark.parametrize(("choice", "others"), [(["-m", "rest"], False), ([], True)])
def test_the_other_runs_have_them(choice: list[str], others: bool) -> None:
    """Where nothing is chosen, nothing is left out."""
    said = collected(*choice)
    assert SANITIZED in said
    assert (CHEAP in said) == others
    assert "LEFT OUT" not in said


def test_tests_that_workers_leave_out_are_counted_once() -> None:
    """Each of them collects all tests."""
    rest = Rest()
    for _ in range(2):
        rest.pytest_testnodedown(SimpleNamespace(workeroutput={"rest": {"sanitizers": 2}}))  # type: ignore[arg-type]
    assert rest.left_out == {"sanitizers": 2}


@pytest.mark.parametrize("start", [*REST, *SHARE])
def test_every_row_of_the_table_names_tests_that_are_there(start: str) -> None:
    path, _, name = start.partition("::")
    assert list(ROOT.glob(f"{path.rstrip('/')}*"))
    assert not name or f"def {name.partition('[')[0]}" in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("test", PROMISED)
def test_make_test_has_what_it_promises(test: str) -> None:
    assert (ROOT / test.partition("::")[0]).is_file()
    assert why_later(test) is None


def test_make_test_all_runs_every_test_once() -> None:
    said = subprocess.run(["make", "-n", "test-all"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    chosen = [line.rpartition(" -m ")[2] for line in said.splitlines() if "benchmarks/micro interop" in line]
    assert chosen == [f'"{LEAVES_OUT}"', "rest"]
    assert (ROOT / ".ci" / "run").read_text("utf-8").endswith("exec make test-all\n")


@pytest.mark.parametrize(("words", "workers"), [(["rest"], 5), (["test"], 4), (["rest", "WORKERS=2"], 2)])
def test_make_rest_has_one_more_worker_since_most_of_its_tests_wait(words: list[str], workers: int) -> None:
    env = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "WORKERS"}}
    said = subprocess.run(["make", "-n", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert f"-m tests.support.running.alone -n {workers} " in said
