"""A share of ``make simulate`` in every run of all tests; what a run depends on; and the disk that loses power."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.source import ROOT
from tests.simulation.disk import Disk
from tests.simulation.filesystem import FileSystem, interposed
from tests.simulation.simulation import Case, Outcome, shrink
from tests.simulation.world import Crash

SEEDS = 10
HOME = Path("/sim/host")


def simulate(*arguments: object) -> str:
    """In a process of its own: the order of sets of texts is part of a run."""
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("first", range(0, 60, SEEDS))
def test_every_invariant_holds(first: int) -> None:
    """The same seeds each time, so that a failure is of this change. `make simulate` runs others."""
    simulate("--first", first, "--seeds", SEEDS)


def test_the_audit_finds_what_happened_and_nothing_else() -> None:
    """`make simulate ARGS="--audit --seeds N"` takes more seeds."""
    assert ": 0" not in simulate("--audit", "--seeds", 6), "a table had no row in any seed"


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    """Memory addresses and hashes of texts have no influence."""
    first, second = simulate("--seed", 5), simulate("--seed", 5)
    assert "digest" in first
    assert first == second


def test_only_the_faults_that_a_violation_needs_are_kept() -> None:
    needed = {1, 3}

    def run(case: Case) -> Outcome:
        is_bad = not needed & case.without and (case.seconds is None or case.seconds > 50)
        return Outcome(case, "(a) gone" if is_bad else None, 50.5, 1, 1)

    case = next(case for case in map(Case, range(100)) if len(case.plan()[1]) > max(needed))
    _, plan = case.plan()
    small = shrink(run(case), run)
    assert small.case.without == frozenset(range(len(plan))) - needed
    assert small.case.seconds == 51


@pytest.fixture
def disk() -> Iterator[Disk]:
    files = FileSystem()
    made = files.disks["host"] = Disk(str(HOME), random.Random(1))
    with interposed(files):
        yield made


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def contents(disk: Disk, times: int = 200) -> set[bytes | None]:
    """What a power loss may leave of the file f, over many losses of the same state."""
    found: set[bytes | None] = set()
    for seed in range(times):
        (HOME / "f").write_bytes(b"old")
        sync(HOME / "f")
        sync(HOME)
        with (HOME / "f").open("r+b", buffering=0) as file:
            file.seek(3)
            file.write(b"new")
        disk._random.seed(seed)
        disk.lose_power()
        found.add((HOME / "f").read_bytes() if (HOME / "f").exists() else None)
    return found


def test_synced_bytes_survive_a_power_loss_and_others_in_part(disk: Disk) -> None:
    found = contents(disk)
    assert {b"old", b"oldnew", b"oldn"} <= found
    assert all(one is not None and one.startswith(b"old") for one in found)


def test_a_name_survives_only_if_its_folder_was_synced(disk: Disk) -> None:
    (HOME / "a").write_bytes(b"a")
    sync(HOME / "a")
    sync(HOME)
    survivors = set()
    for seed in range(50):
        (HOME / "a").rename(HOME / "b")
        disk._random.seed(seed)
        disk.lose_power()
        survivors.add(tuple(sorted(path.name for path in HOME.iterdir())))
        if (HOME / "b").exists():
            (HOME / "b").rename(HOME / "a")
        sync(HOME)
    assert survivors == {("a",), ("b",)}


def test_a_crash_in_a_write_leaves_a_part_and_nothing_runs_after_it(disk: Disk) -> None:
    disk.crash_in = 2
    with pytest.raises(Crash):
        (HOME / "f").write_bytes(b"x" * 1_000)
    with pytest.raises(Crash):  # in the `finally` of the process that is gone
        (HOME / "f").unlink()
    disk.is_gone = False
    assert len((HOME / "f").read_bytes()) <= 1_000
