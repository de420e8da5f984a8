"""A results file is one run on one commit; docs/costs.md shows nothing else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import measuring
from benchmarks.bench import Bench
from benchmarks.parts.part import Part
from benchmarks.plan import SMOKE
from benchmarks.record import Record
from benchmarks.report import costs, store
from benchmarks.report.store import MixedRun, Results, name_of
from benchmarks.servers.kinds import DEFAULT
from tests.benchmarks.rows import record, results

PAGE = f"# top\n{costs.BEGIN}\nold\n{costs.END}\nrest\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    return tmp_path


def test_a_part_of_another_commit_is_not_added() -> None:
    run = Results("full", "abc")
    run.add(record("lookups", "abc"), "")
    with pytest.raises(MixedRun, match="of commit def, this run of abc"):
        run.add(record("storm", "def"), "")
    assert list(run.records) == ["lookups"]


def test_a_part_that_is_measured_again_does_not_replace_itself() -> None:
    run = Results("full", "abc")
    run.add(record("lookups", "abc"), "")
    with pytest.raises(MixedRun, match="already"):
        run.add(record("lookups", "abc"), "")


@pytest.mark.usefixtures("folder")
def test_a_file_with_parts_of_two_commits_is_not_read() -> None:
    run = Results("full", "abc", is_whole=True)
    run.add(record("lookups", "abc"), "")
    path = store.write(run, "full")
    assert store.read("full") == run
    path.write_text(path.read_text("utf-8").replace('"rocketns": "abc"', '"rocketns": "def"'), "utf-8")
    with pytest.raises(MixedRun):
        store.read("full")


def test_a_commit_that_changes_during_a_run_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = iter(["abc", "abc with changes"])
    monkeypatch.setattr(measuring, "commit", lambda: next(commits))
    parts = [Part(name, name, lambda _plan: "", _measure) for name in ("start", "lookups")]
    with pytest.raises(MixedRun):
        measuring.measure(parts, SMOKE, {}, Results("smoke", "abc"))
    assert list(json.loads((folder / "smoke-unfinished.json").read_text("utf-8"))["records"]) == ["start"]


def test_a_part_that_is_over_its_time_ends_after_a_whole_round_and_says_so(tmp_path: Path) -> None:
    plan = dataclasses.replace(SMOKE, part_s={"start": 0.0})
    found = Record("start", "Start")
    rounds = list(Bench(plan, {}, tmp_path, print).turns(found, 5, []))
    assert len(rounds) == 1
    assert found.notes == ["1 of 5 rounds: then the time for this part was over"]


def test_every_round_begins_with_another_server(tmp_path: Path) -> None:
    servers: list[Any] = ["a", "b", "c"]
    orders = [order for _, order in Bench(SMOKE, {}, tmp_path, print).turns(Record("start", ""), 3, servers)]
    assert orders == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]


def _measure(_bench: Bench, record: Record) -> None:
    record.row("x", "ms").add(DEFAULT, 0, 1.0)


def test_single_parts_have_a_file_of_their_own() -> None:
    run = Results("full", "abc")
    run.add(record("lookups", "abc"), "")
    run.add(record("storm", "abc"), "")
    assert name_of(run, busy_ok=False) == "full-lookups-storm"
    run.is_whole = True
    assert name_of(run, busy_ok=False) == "full"


def test_a_run_on_a_busy_machine_is_not_the_result_unless_that_is_allowed() -> None:
    run = Results("full", "abc", is_whole=True, busy=["others"])
    assert name_of(run, busy_ok=False) == "full-busy"
    assert name_of(run, busy_ok=True) == "full"


@pytest.mark.parametrize("change", [{"is_whole": False}, {"commit": "abc with changes"}, {"commit": ""}])
def test_the_page_of_costs_takes_only_a_whole_run_of_a_clean_commit(tmp_path: Path, change: dict[str, object]) -> None:
    path, run = tmp_path / "costs.md", results([2.0], [3.0])
    path.write_text(PAGE, "utf-8")
    costs.write(run, path)
    before = path.read_text("utf-8")
    assert "commit abc" in before
    for name, value in change.items():
        setattr(run, name, value)
    with pytest.raises(MixedRun):
        costs.write(run, path)
    assert path.read_text("utf-8") == before
