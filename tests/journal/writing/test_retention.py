"""Which closed files are deleted: by age and by size, and never files of other programs."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from rocketns.journal.segments import Segment, Store, day_of
from rocketns.journal.writer import Chunk, Retention, Writer
from tests.journal.files import closed_files

TODAY = date(2026, 11, 21)


def fill(store: Store, days: int, files: int = 2, size: int = 100) -> list[Segment]:
    """``files`` closed files a day, oldest first, the last ones of today."""
    segments = [
        Segment(TODAY - timedelta(days=ago), 1_000 - ago, number)
        for ago in range(days - 1, -1, -1) for number in range(1, files + 1)
    ]  # fmt: skip
    for one in segments:
        store.folder(one.day).mkdir(parents=True, exist_ok=True)
        store.closed_path(one).write_bytes(b"x" * size)
    return segments


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, "n1")


def test_files_older_than_the_days_go_with_their_folders(store: Store) -> None:
    segments = fill(store, 10)
    assert store.retain(TODAY, 3, 0) == segments[:12]
    assert {path.parent.parent.name for path in closed_files(store.root)} == {
        "dt=2026-11-18", "dt=2026-11-19", "dt=2026-11-20", "dt=2026-11-21",
    }  # fmt: skip
    assert len(list(store.base.iterdir())) == 4


def test_the_oldest_go_beyond_the_bytes(store: Store) -> None:
    segments = fill(store, 5)
    assert store.retain(TODAY, 0, 350) == segments[:7]
    assert store.closed() == [(one, 100) for one in segments[7:]]


def test_files_within_the_limits_stay(store: Store) -> None:
    fill(store, 5)
    assert store.retain(TODAY, 4, 1_000) == []
    assert store.retain(TODAY, 0, 0) == []


def test_nothing_of_others_is_touched(store: Store) -> None:
    """Not deleted: files of other name servers, open files, and files that are not a journal."""
    foreign, own = Store(store.root, "n2"), store.folder(TODAY - timedelta(days=100))
    fill(foreign, 5)
    own.mkdir(parents=True)
    (own / ".open-1-000001").write_bytes(b"x")
    (own / "notes.jsonl").write_bytes(b"x")
    (own / "1-000001.jsonl.gz").write_bytes(b"x")
    fill(store, 2)
    store.retain(TODAY, 1, 1)
    assert len(closed_files(store.root, "n2")) == 10
    assert {path.name for path in own.iterdir()} == {".open-1-000001", "notes.jsonl", "1-000001.jsonl.gz"}


def test_the_number_counts_not_its_text(store: Store) -> None:
    for number in (2, 10, 9, 1_000_000):
        one = Segment(TODAY, 1, number)
        store.folder(TODAY).mkdir(parents=True, exist_ok=True)
        store.closed_path(one).write_bytes(b"x")
    assert [one.number for one in store.retain(TODAY, 0, 1)] == [2, 9, 10]


def test_the_writer_keeps_to_the_bytes_as_it_goes(store: Store) -> None:
    writer = Writer(store, Retention(0, 1_000))
    writer.start()
    for number in range(1, 51):
        writer.push(Chunk(Segment(TODAY, 1, number), bytearray(b"x" * 99 + b"\n"), ends=True))
    assert writer.stop(30)
    assert [one.number for one, _ in store.closed()] == list(range(41, 51))


def test_a_boot_has_a_number_of_its_own(store: Store) -> None:
    boot = 1_700_000_000_000
    assert store.free_boot(boot) == boot
    for number, path in enumerate((store.open_path, store.closed_path)):
        one = Segment(day_of(boot), boot + number, 1)
        path(one).parent.mkdir(parents=True, exist_ok=True)
        path(one).write_bytes(b"")
    assert store.free_boot(boot) == boot + 2
