"""What is synced survives a power loss: its bytes, the name of its file, and the names of the folders above it.

The disk is the simulation's, which keeps no name that was not synced with its folder, as POSIX allows.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from rocketns import files
from rocketns.journal.segments import Segment, Store
from rocketns.journal.writer import OpenFile
from tests.simulation.disk import Disk
from tests.simulation.filesystem import FileSystem, interposed

HOME = Path("/sim/host")
SEGMENT = Segment(date(2026, 1, 2), 1, 1)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk that loses all names that were not synced."""
    system = FileSystem()
    made = system.disks["host"] = Disk(str(HOME), random.Random(0))
    made._random.randint = lambda low, _high: low  # type: ignore[method-assign]
    with interposed(system):
        yield made


def test_the_journals_open_file_is_there_with_its_synced_records(disk: Disk) -> None:
    store = Store(HOME / "a" / "journal", "n1")
    store.lock()
    file = OpenFile(store, SEGMENT)
    file.append(bytearray(b'{"seq":1}\n'))
    file.sync()
    disk.lose_power()
    assert store.open_path(SEGMENT).read_bytes() == b'{"seq":1}\n'


def test_folders_that_a_killed_process_left_without_a_sync_are_synced(disk: Disk) -> None:
    """Folders whose sync failed look the same: the next attempt finds them."""
    store = Store(HOME / "a" / "journal", "n1")
    store.folder(SEGMENT.day).mkdir(parents=True)
    file = OpenFile(store, SEGMENT)
    file.append(bytearray(b'{"seq":1}\n'))
    file.sync()
    (HOME / "a").rename(HOME / "b")  # names above the journal's root are its owner's
    files.sync_folder(HOME)
    disk.lose_power()
    assert (HOME / "b" / "journal" / store.open_path(SEGMENT).relative_to(store.root)).read_bytes() == b'{"seq":1}\n'


def test_a_folder_whose_sync_failed_is_made_again(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(files, "sync_folder", raise_eio)
        with pytest.raises(OSError, match="Input/output"):
            files.replace_with_backup(HOME / "namesrv" / "kv.json", [b"one"])
    files.replace_with_backup(HOME / "namesrv" / "kv.json", [b"one"])
    disk.lose_power()
    assert (HOME / "namesrv" / "kv.json").read_bytes() == b"one"


def raise_eio(_folder: Path) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_the_journals_closed_file_keeps_its_name(disk: Disk) -> None:
    store = Store(HOME / "journal", "n1")
    file = OpenFile(store, SEGMENT)
    file.append(bytearray(b'{"seq":1}\n'))
    file.sync()
    file.close()
    disk.lose_power()
    assert store.closed_path(SEGMENT).read_bytes() == b'{"seq":1}\n'


def test_a_replaced_file_is_there_with_its_new_folder(disk: Disk) -> None:
    files.replace_with_backup(HOME / "a" / "namesrv" / "kv.json", [b"one"])
    disk.lose_power()
    assert (HOME / "a" / "namesrv" / "kv.json").read_bytes() == b"one"
    files.replace_with_backup(HOME / "a" / "namesrv" / "kv.json", [b"two"])
    disk.lose_power()
    assert (HOME / "a" / "namesrv" / "kv.json").read_bytes() == b"two"


@pytest.mark.parametrize("breaks", [False, True])
def test_a_repaired_file_has_no_torn_line_whichever_of_its_changes_the_disk_kept(disk: Disk, breaks: bool) -> None:
    """Its name may reach the disk before its repaired end, also if the first attempt to repair it failed."""
    store = Store(HOME / "journal", "n1")
    file = OpenFile(store, SEGMENT)
    file.append(bytearray(b'{"seq":1}\n{"se'))
    file.sync()
    if breaks:
        with pytest.MonkeyPatch.context() as failing:
            failing.setattr(os, "fsync", raise_eio)
            with pytest.raises(OSError, match="Input/output"):
                store.repair()
    store.repair()
    files.sync_folder(store.folder(SEGMENT.day))
    disk.lose_power()
    assert store.closed_path(SEGMENT).read_bytes() == b'{"seq":1}\n'
