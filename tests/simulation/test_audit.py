"""Invariant (h) for some seeds, and that the comparison notices errors of an audit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.check.source import ROOT
from tests.simulation.audit.compare import differences
from tests.simulation.audit.ending import run_into
from tests.simulation.audit.found import Found, Row, audit
from tests.simulation.audit.judging import with_one_clock
from tests.simulation.audit.truth import Truth
from tests.simulation.simulation import Case

SEEDS = int(os.environ.get("ROCKETNS_AUDITED_SEEDS") or 6)
# Two name servers that are stalled twice each, a broker that is killed, one that goes silent, and windows.
EVENTFUL = with_one_clock(Case(4))
TABLES = ("ns_uptime", "stalls", "key_windows", "departures", "broker_intervals", "topic_intervals")
LATER_US = 1_000_000

Judge = Callable[[Found], list[str]]


@pytest.mark.timeout(600)
def test_the_audit_finds_what_happened_and_nothing_else() -> None:
    """`make simulate ARGS="--audit --seeds N"` takes more seeds."""
    command = [sys.executable, "-m", "tests.simulation", "--audit", "--seeds", str(SEEDS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, Found]:
    folder = tmp_path_factory.mktemp("journals")
    return run_into(EVENTFUL, folder), audit(folder)


@pytest.fixture
def judge(audited: tuple[Truth, Found]) -> Judge:
    deployment, faults = EVENTFUL.plan()
    done = [fault for number, fault in enumerate(faults) if number not in EVENTFUL.without]
    return lambda found: differences(audited[0], found, deployment, done)


def test_nothing_differs_where_nothing_is_changed(audited: tuple[Truth, Found], judge: Judge) -> None:
    assert judge(audited[1]) == []
    assert all(audited[1][name] for name in TABLES)


def later(row: Row) -> Row:
    """The same a second later."""
    return dict(row) | {name: row[name] + LATER_US for name in ("t1", "t2", "ts") if name in row}


def lasted(row: Row) -> int:
    """How long it was, us. A long row and the same a second later may be one thing that was seen twice."""
    return int(row["t2"] - row["t1"]) if "t1" in row else 0


@pytest.mark.parametrize("name", TABLES)
def test_a_row_that_is_missing_invented_or_moved_is_seen(name: str, audited: tuple[Truth, Found], judge: Judge) -> None:
    first, *rest = sorted(audited[1][name], key=lasted)
    for rows in (rest, [first, later(first), *rest], [later(first), *rest]):
        assert judge(replace(audited[1], tables={**audited[1].tables, name: rows}))


def test_an_outage_that_is_not_listed_is_seen(audited: tuple[Truth, Found], judge: Judge) -> None:
    assert judge(replace(audited[1], incidents=[]))


def test_a_stop_that_looks_like_a_silence_is_seen(audited: tuple[Truth, Found], judge: Judge) -> None:
    rows = [dict(row) | {"kind": "silent" if row["kind"] == "graceful" else row["kind"]}
            for row in audited[1]["departures"]]  # fmt: skip
    assert judge(replace(audited[1], tables={**audited[1].tables, "departures": rows}))


def test_journals_are_written_as_real_ones_are(tmp_path: Path) -> None:
    truth = run_into(with_one_clock(Case(3)), tmp_path)
    names = {path.parent.name for path in tmp_path.glob("v=1/dt=2023-11-14/ns=*/*.jsonl")}
    assert names == {f"ns={run.ns}" for run in truth.runs}
    assert not list(tmp_path.glob("v=1/dt=*/ns=*/.open-*")), "every file is closed"
