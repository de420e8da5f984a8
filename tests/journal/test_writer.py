"""The journal's thread and its files: names, order, repair, and failing disks."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections import deque
from collections.abc import Iterator
from concurrent import futures
from datetime import date
from pathlib import Path

import pytest

from rocketns import files
from rocketns.journal import writer as writer_module
from rocketns.journal.segments import Segment, Store
from rocketns.journal.writer import Chunk, OpenFile, Retention, Writer
from tests.journal.files import closed_files, open_files
from tests.simulation.disk import Disk
from tests.simulation.filesystem import FileSystem, interposed

DAY = date(2026, 11, 21)
BOOT = 1_700_000_000_000
WITHIN_S = 60


def segment(number: int = 1, day: date = DAY, boot: int = BOOT) -> Segment:
    return Segment(day, boot, number)


def line(number: int, length: int = 20) -> bytearray:
    return bytearray(b'{"seq":%d}' % number).ljust(length - 1) + b"\n"


class Journalled:
    """A writer that a test feeds and waits for."""

    def __init__(self, root: Path, retention: Retention | None = None, ns: str = "n1") -> None:
        self.root = root
        self.writer = Writer(Store(root, ns), retention or Retention(0, 0))
        self.writer.start()

    def push(self, data: bytes, number: int = 1, *, ends: bool = False, day: date = DAY) -> None:
        self.writer.push(Chunk(segment(number, day), bytearray(data), ends))
        self.settle()

    def settle(self) -> None:
        assert self.writer.wait_until_settled(WITHIN_S)

    def again(self) -> None:
        self.writer.wake()
        self.settle()


@pytest.fixture
def started() -> Iterator[list[Journalled]]:
    all_of_them: list[Journalled] = []
    yield all_of_them
    for one in all_of_them:
        one.writer.stop(WITHIN_S)


@pytest.fixture
def journalled(tmp_path: Path, started: list[Journalled]) -> Journalled:
    started.append(Journalled(tmp_path / "j"))
    return started[-1]


def test_a_file_is_hidden_until_it_ends(journalled: Journalled) -> None:
    journalled.push(line(1))
    (path,) = open_files(journalled.root)
    assert path.relative_to(journalled.root).as_posix() == f"v=1/dt=2026-11-21/ns=n1/.open-{BOOT}-000001"
    assert path.read_bytes() == line(1)
    assert closed_files(journalled.root) == []
    journalled.push(line(2), ends=True)
    assert open_files(journalled.root) == []
    (path,) = closed_files(journalled.root)
    assert path.name == f"{BOOT}-000001.jsonl"
    assert path.read_bytes() == line(1) + line(2)


def test_records_count_as_written_after_a_sync(journalled: Journalled, monkeypatch: pytest.MonkeyPatch) -> None:
    pending: list[int] = []
    real = os.fdatasync
    monkeypatch.setattr(
        writer_module.os, "fdatasync", lambda fd: (pending.append(journalled.writer.pending_bytes), real(fd))
    )
    journalled.push(line(1))
    assert pending == [20]
    assert journalled.writer.pending_bytes == 0
    assert not journalled.writer.has_pending


def test_what_a_sync_brought_to_the_disk_is_released_before_anything_is_settled(
    journalled: Journalled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync has ended a moment before it wakes the writer: here that moment lasts."""
    writer = journalled.writer
    tried, waits_again, goes_on = threading.Event(), threading.Event(), threading.Event()
    wait, wake = writer._wake.wait, writer.wake
    monkeypatch.setattr(writer, "_after_attempt", lambda: (futures.wait(filter(None, [writer._syncing])), tried.set()))
    monkeypatch.setattr(writer._wake, "wait", lambda: (tried.is_set() and waits_again.set(), wait()))
    monkeypatch.setattr(writer, "wake", lambda *, sync: ((sync or goes_on.wait(WITHIN_S)), wake(sync=sync)))
    writer.push(Chunk(segment(), line(1)))
    assert waits_again.wait(WITHIN_S)
    assert not writer.wait_until_settled(0)
    goes_on.set()
    journalled.settle()
    assert writer.pending_bytes == 0


@pytest.mark.parametrize("torn", [b'{"seq":3', b"\0" * 5_000, b"x" * 200_000])
def test_a_torn_tail_is_cut_and_the_file_closed_at_the_next_start(
    tmp_path: Path, started: list[Journalled], torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path, "n1")
    left = store.open_path(segment(7))
    left.parent.mkdir(parents=True)
    left.write_bytes(line(1) + line(2) + torn)
    started.append(Journalled(tmp_path))
    started[-1].push(line(3), 8)
    assert store.closed_path(segment(7)).read_bytes() == line(1) + line(2)
    assert not left.exists()
    assert "was left open by a crash" in caplog.text


def test_a_file_without_a_whole_line_is_removed_and_others_are_left_alone(
    tmp_path: Path, started: list[Journalled]
) -> None:
    left, foreign = (Store(tmp_path, ns).open_path(segment()) for ns in ("n1", "n2"))
    for path in (left, foreign):
        path.parent.mkdir(parents=True)
        path.write_bytes(b'{"seq"')
    started.append(Journalled(tmp_path))
    started[-1].push(line(1), 2)
    assert not left.exists()
    assert foreign.read_bytes() == b'{"seq"'


def test_a_folder_that_cannot_be_made_is_tried_again(
    tmp_path: Path, started: list[Journalled], caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "j"
    in_the_way.write_text("no folder")
    one = Journalled(in_the_way)
    started.append(one)
    for number in range(1, 4):
        one.push(line(number))
    assert one.writer.pending_bytes == 60
    assert caplog.text.count("cannot be written") == 1
    in_the_way.unlink()
    one.again()
    assert one.writer.pending_bytes == 0
    (path,) = open_files(in_the_way)
    assert path.read_bytes() == line(1) + line(2) + line(3)
    assert caplog.text.count("can be written again") == 1


@pytest.mark.parametrize("after_bytes", [0, 7])
def test_a_failed_write_is_repeated_from_its_beginning(
    journalled: Journalled, monkeypatch: pytest.MonkeyPatch, after_bytes: int
) -> None:
    """Part of the chunk may be in the file by then, and must not be there twice."""
    journalled.push(line(1))
    real = os.pwrite

    def full(descriptor: int, data: memoryview, offset: int) -> int:
        if offset > 20 or not after_bytes:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:after_bytes], offset)

    monkeypatch.setattr(writer_module.os, "pwrite", full)
    journalled.push(line(2))
    assert journalled.writer.pending_bytes == 20
    monkeypatch.undo()
    journalled.push(line(3))
    assert open_files(journalled.root)[0].read_bytes() == line(1) + line(2) + line(3)


def test_a_failed_sync_is_repeated_with_its_bytes(journalled: Journalled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may have dropped pages that it could not write, so they are written again."""
    written: list[int] = []
    real = os.pwrite
    monkeypatch.setattr(writer_module.os, "pwrite", lambda fd, d, at: (written.append(at), real(fd, d, at))[1])

    def failing(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(writer_module.os, "fdatasync", failing)
        journalled.push(line(1))
    journalled.again()
    assert written == [0, 0]
    assert open_files(journalled.root)[0].read_bytes() == line(1)


def test_one_process_writes_for_one_id(
    tmp_path: Path, started: list[Journalled], caplog: pytest.LogCaptureFixture
) -> None:
    """A second server must not take the first one's open file for the remains of a crash."""
    first, second, other = Journalled(tmp_path), Journalled(tmp_path), Journalled(tmp_path, ns="n2")
    started.extend((first, second, other))
    first.push(line(1))
    second.push(line(2), 9)
    other.push(line(3))
    assert len(open_files(tmp_path)) == 2
    assert "cannot be written" in caplog.text
    first.writer.stop(WITHIN_S)
    second.again()
    assert not second.writer.has_pending


class Emptied(deque[Chunk]):
    """The other thread releases the last chunk between any two steps."""

    def __len__(self) -> int:
        length = super().__len__()
        self.clear()
        return length

    def __bool__(self) -> bool:
        return len(self) > 0


def test_nothing_is_behind_when_the_last_chunk_is_released_meanwhile(
    journalled: Journalled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control asks this while the writer's thread removes chunks."""
    monkeypatch.setattr(journalled.writer, "_chunks", Emptied([Chunk(segment(), line(1), False)]))
    assert journalled.writer.is_behind in (True, False)


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


def raise_eio(_folder: Path) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


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
