"""The disk in memory: what a power loss leaves, what a crash in a write leaves, and that code sees normal files."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.disk import Disk
from tests.simulation.filesystem import FileSystem, interposed
from tests.simulation.world import Crash

HOME = Path("/sim/host")


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


def test_a_full_disk_takes_nothing_new(disk: Disk) -> None:
    (HOME / "f").write_bytes(b"1234")
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        (HOME / "g").write_bytes(b"1")
    with (HOME / "f").open("r+b", buffering=0) as file:
        file.write(b"56")
    assert (HOME / "f").read_bytes() == b"5634"


def test_a_lock_is_held_until_its_process_is_gone(disk: Disk) -> None:
    first, second = (os.open(HOME / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    disk.release_locks()
    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_folders_and_files_are_found_as_on_a_real_disk(disk: Disk) -> None:
    (HOME / "a" / "b").mkdir(parents=True)
    (HOME / "a" / "b" / "c.txt").write_text("one\ntwo\n", "utf-8")
    assert [path.name for path in HOME.glob("a/*/*.txt")] == ["c.txt"]
    assert (HOME / "a" / "b" / "c.txt").read_text("utf-8").splitlines() == ["one", "two"]
    assert (HOME / "a").is_dir()
    with pytest.raises(OSError, match="not empty"):
        (HOME / "a").rmdir()
    with pytest.raises(FileNotFoundError):
        (HOME / "none").read_bytes()
    assert not disk.is_gone


def test_a_file_is_copied_as_on_a_real_disk(disk: Disk) -> None:
    (HOME / "a").write_bytes(b"some")
    shutil.copy2(HOME / "a", HOME / "b")
    assert (HOME / "b").read_bytes() == b"some"
    assert not disk.is_gone


def test_other_files_are_not_touched(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"real")
    assert (tmp_path / "f").read_bytes() == b"real"
    assert not disk.folder.names
