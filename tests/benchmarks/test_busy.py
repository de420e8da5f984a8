"""Results of a busy machine are refused unless they are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import benchmarks.__main__ as program
from benchmarks import busy as busy_module
from benchmarks.busy import Machine, Ticks, disturbed
from benchmarks.parts.part import Part
from benchmarks.plan import FULL, Plan
from benchmarks.record import Row
from benchmarks.report import costs, markdown, plots, store
from benchmarks.report.markdown import text
from benchmarks.report.store import Results
from benchmarks.servers.kinds import DEFAULT, JAVA
from tests.benchmarks.rows import WHAT, record

QUIET = Machine(load=0.3, cores=2, others=0.01, steal=0.0, got=0.99)


def test_a_quiet_machine_has_no_complaints() -> None:
    assert QUIET.complaints() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"load": 1.1}, "load average is 1.10"),
        ({"others": 0.06}, "other processes use 6.0%"),
        ({"steal": 0.03}, "the host takes 3.0%"),
        ({"got": 0.89}, "a busy process gets 89.0%"),
    ],
)
def test_each_sign_of_a_busy_machine_is_named(change: dict[str, float], said: str) -> None:
    (complaint,) = Machine(**({**vars(QUIET)} | change)).complaints()
    assert said in complaint


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A busy machine, and what was measured on it."""
    measured: list[str] = []
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    monkeypatch.setattr(busy_module, "look", lambda _say, _wait_s: Machine(2.5, 2, 0.5, 0.0, 0.6))
    monkeypatch.setattr(program, "available", lambda _keys: ({}, {}))
    monkeypatch.setattr(program, "measure", lambda parts, *_: measured.extend(part.name for part in parts))
    return measured


def test_nothing_is_measured_nor_written_on_a_busy_machine(
    busy: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["--smoke"]) == program.STATUS_BUSY
    assert (busy, list(tmp_path.iterdir())) == ([], [])
    said = capsys.readouterr().out
    assert "load average is 2.50" in said
    assert "--busy-ok" in said


def test_a_busy_machine_is_measured_if_that_is_allowed_and_the_results_say_so(busy: list[str], tmp_path: Path) -> None:
    assert program.main(["--smoke", "--busy-ok"]) == 0
    assert busy == program.NAMES
    assert "**The machine was busy**: the load average is 2.50" in (tmp_path / "smoke.md").read_text("utf-8")
    assert store.read("smoke").busy


@pytest.fixture
def quiet(busy: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A quiet machine on a clean commit, whose page of costs and results lie in a folder."""
    monkeypatch.setattr(busy_module, "look", lambda _say, _wait_s: QUIET)
    monkeypatch.setattr(program, "commit", lambda: "abc")
    monkeypatch.setattr(program, "measure", _measure)
    monkeypatch.setattr(markdown, "FOLDER", tmp_path)
    monkeypatch.setattr(plots, "FOLDER", tmp_path)
    monkeypatch.setattr(costs, "PAGE", tmp_path / "costs.md")
    costs.PAGE.write_text(f"{costs.BEGIN}\nold\n{costs.END}\n", "utf-8")
    assert not busy
    return tmp_path


def _measure(parts: list[Part], _plan: Plan, _kinds: object, results: Results) -> None:
    for part in parts:
        row = Row(WHAT, "p99 µs", {DEFAULT: [3.0], JAVA: [2.0]})
        results.add(record(part.name, rows=[row]), part.method(FULL))


def test_a_whole_full_run_writes_results_plots_and_the_page_of_costs(quiet: Path) -> None:
    assert program.main([]) == 0
    assert {path.name for path in quiet.iterdir()} >= {"full.json", "full.md", "lookups.svg", "paced.svg", "storm.svg"}
    assert "on commit abc" in costs.PAGE.read_text("utf-8")
    assert store.read("full").is_whole


@pytest.mark.parametrize("words", [["lookups"], ["--servers", "rocketns"], ["--quick"]])
def test_any_other_run_leaves_the_page_of_costs_and_its_results_alone(quiet: Path, words: list[str]) -> None:
    assert program.main(words) == 0
    assert "old" in costs.PAGE.read_text("utf-8")
    assert not (quiet / "full.json").exists()


def test_a_part_that_others_disturbed_makes_the_run_a_busy_one() -> None:
    before = Ticks(used=0.0, steal=0.0, at=0.0, own=0.0)
    cores = os.cpu_count() or 1
    others, steal = Ticks(used=cores * 6.0, steal=0.0, at=10.0, own=cores * 4.5).shares_since(before)
    assert (round(others, 3), steal) == (0.15, 0)
    assert "other processes used 15.0%" in disturbed(others, steal)
    assert "the host took 6.0%" in disturbed(0, 0.06)
    assert disturbed(0.09, 0.04) == ""


def test_a_disturbed_run_is_said_to_be_one() -> None:
    assert "**The machine was busy**: why." in text(Results("quick", busy=["why"]))


def test_this_programs_own_work_is_not_that_of_others() -> None:
    before = Ticks.now()
    sum(range(3_000_000))
    after = Ticks.now()
    assert after.own > before.own
    assert after.at > before.at
