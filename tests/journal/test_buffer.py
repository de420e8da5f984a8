"""Numbers, bounds and the ends of files, before anything reaches a disk."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from rocketns.journal.buffer import DAY_MS, SEAL_BYTES, Buffer, BufferLimits
from rocketns.journal.chain import BLANK, Chain
from rocketns.journal.segments import Segment, Store, day_of
from rocketns.journal.writer import Chunk
from tests.journal.files import closed_files
from tests.journal.memory import BOOT_MS, MemoryWriter, memory_buffer
from tests.journal.replay import Record, check_sequence, kinds

MINUTE_MS = 60_000
RECORD = b'"ev":"stop"}'


class Unsynced(MemoryWriter):
    """It takes everything, and nothing reaches the disk. ``synced``: of each chunk, whether it should."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = True
        self.synced: list[bool] = []

    @property
    def has_room(self) -> bool:
        return True

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:
        super().push(chunk)
        self.synced.append(sync)


@pytest.fixture
def writer() -> MemoryWriter:
    return MemoryWriter()


def buffer_of(writer: MemoryWriter, buffer_bytes: int = 1 << 20, file_bytes: int = 1 << 30) -> Buffer:
    buffer = memory_buffer(writer, BufferLimits(buffer_bytes, file_bytes, 10 * MINUTE_MS))
    buffer.at(BOOT_MS)
    return buffer


def put(buffer: Buffer, count: int, at_ms: int = BOOT_MS) -> None:
    buffer.at(at_ms)
    for _ in range(count):
        buffer.put(RECORD)


def files_of(writer: MemoryWriter) -> dict[int, list[Record]]:
    """The records by file number, taken from the writer."""
    by_file: dict[int, list[Record]] = {}
    chunks, writer.chunks = writer.chunks, []
    for chunk in chunks:
        writer.chunks = [chunk]
        by_file.setdefault(chunk.segment.number, []).extend(writer.take())
    return by_file


def test_nothing_is_handed_over_before_a_flush(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer)
    put(buffer, 3)
    assert writer.chunks == []
    buffer.flush(BOOT_MS)
    assert kinds(writer.take()) == ["open", "stop", "stop", "stop"]
    buffer.flush(BOOT_MS + 1_000)
    assert writer.chunks == []


def test_a_buffer_that_fills_is_synced_before_the_next_flush() -> None:
    """What waits for the sync takes room of the records that follow."""
    writer = Unsynced()
    buffer = buffer_of(writer, 1 << 16)
    for _ in range(8):
        put(buffer, 100)
        buffer.hand_over_soon()
    assert writer.synced == [False] * 2 + [True] * 6


@pytest.mark.parametrize("passed_ms", [10 * MINUTE_MS, -1, DAY_MS])
def test_a_file_ends_when_its_time_is_over_or_the_clock_went_back(writer: MemoryWriter, passed_ms: int) -> None:
    buffer = buffer_of(writer)
    put(buffer, 2)
    put(buffer, 1, BOOT_MS + passed_ms)
    buffer.flush(BOOT_MS + passed_ms)
    ends = [chunk.ends for chunk in writer.chunks]
    by_file = files_of(writer)
    assert [len(kinds(records)) for records in by_file.values()] == [3, 2]
    assert ends == [True, False]
    check_sequence([one for records in by_file.values() for one in records])
    assert [records[0] for records in by_file.values()] == [
        {"boot": BOOT_MS, "seq": seq, "ts": ms * 1000, "ev": "open", "ns": "n1", "file": number, "rotate_s": 600}
        for number, (seq, ms) in enumerate([(1, BOOT_MS), (5, BOOT_MS + passed_ms)], 1)
    ]


def test_a_file_ends_with_the_utc_day(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer)
    midnight = (BOOT_MS // DAY_MS + 1) * DAY_MS
    for at_ms in (midnight - 2, midnight - 1, midnight):
        put(buffer, 1, at_ms)
    buffer.close(midnight)
    assert {chunk.segment.number: chunk.segment.day.isoformat() for chunk in writer.chunks} == {
        1: "2023-11-14", 2: "2023-11-15",
    }  # fmt: skip


def test_a_quiet_file_is_closed_in_time_and_no_empty_one_follows(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer)
    put(buffer, 1)
    for minutes in range(0, 120, 5):
        buffer.flush(BOOT_MS + minutes * MINUTE_MS)
    assert [(chunk.segment.number, chunk.ends) for chunk in writer.chunks] == [(1, False), (1, True)]


def test_a_file_ends_with_a_seal_at_the_first_record_beyond_its_bytes(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer, file_bytes=1_000)
    put(buffer, 100)
    buffer.close(BOOT_MS)
    sizes = [sum(len(chunk.data) for chunk in writer.chunks if chunk.segment.number == n) for n in range(1, 6)]
    assert all(1_000 <= size < 1_100 + SEAL_BYTES for size in sizes)
    by_file = files_of(writer)
    check_sequence([one for records in by_file.values() for one in records])
    assert {records[-1]["ev"] for records in by_file.values()} == {"seal"}


def test_records_that_do_not_fit_are_lost_and_counted(writer: MemoryWriter, caplog: pytest.LogCaptureFixture) -> None:
    buffer = buffer_of(writer, 10_000)
    writer.stuck = True
    put(buffer, 1_000)
    lost = buffer.lost
    assert 0 < lost < 1_000
    buffer.flush(BOOT_MS)
    put(buffer, 10)
    writer.unstick()
    put(buffer, 1)
    buffer.flush(BOOT_MS)
    records = writer.take()
    assert [one["lost"] for one in records if one["ev"] == "drop"] == [lost + 10]
    assert records[-1]["seq"] == 1_000 + 11 + 2 + buffer.seals  # and open and drop
    check_sequence(records)
    assert caplog.text.count("records are lost, from seq") == 1
    assert caplog.text.count(f"{lost + 10} records of the journal were lost") == 1


def test_no_seal_comes_between_lost_records_and_the_record_that_counts_them(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer, 10_000)
    writer.stuck = True
    put(buffer, 1_000)
    assert buffer.lost
    writer.unstick()
    buffer.wants_seal = True
    buffer.hand_over_soon()
    buffer.flush(BOOT_MS)
    records = writer.take()
    check_sequence(records)
    assert [one["ev"] for one in records[-2:]] == ["drop", "seal"]


@pytest.mark.parametrize("is_late", [False, True])
def test_there_is_room_for_the_last_record_though_the_buffer_is_full(writer: MemoryWriter, is_late: bool) -> None:
    """Without a stop record a stopped server looks like a killed one. A file that is due begins before that record."""
    buffer = buffer_of(writer, 10_000)
    writer.stuck = True
    put(buffer, 1_000)
    lost = buffer.lost
    buffer.close(BOOT_MS + is_late * 10 * MINUTE_MS, b'"ev":"start"}')
    records = writer.take()
    assert [one for one in kinds(records) if one != "stop"] == ["open", *["open"] * is_late, "drop", "start"]
    assert sum(one.get("lost", 0) for one in records) == lost == records[-1]["seq"] - len(records)


def test_a_record_larger_than_the_buffer_is_lost_alone(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer, 10_000)
    put(buffer, 1)
    buffer.put(b'"ev":"kv","val":"%b"}' % (b"x" * 20_000))
    put(buffer, 1)
    buffer.flush(BOOT_MS)
    records = writer.take()
    assert kinds(records) == ["open", "stop", "drop", "stop"]
    check_sequence(records)


def test_only_records_of_changes_have_the_moment_before_them(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer, 1 << 16)
    buffer.at(BOOT_MS, BOOT_MS - 7)
    buffer.put(RECORD)
    buffer.lose("test")
    buffer.put(RECORD)
    buffer.wants_seal = True
    buffer.hand_over_soon()
    buffer.at(BOOT_MS)
    buffer.put(RECORD)
    buffer.at(BOOT_MS, BOOT_MS + 9)
    buffer.put(RECORD)
    buffer.flush(BOOT_MS)
    told = [(one["ev"], one.get("since")) for one in writer.take()]
    since = (BOOT_MS - 7) * 1000
    assert told == [
        ("open", None), ("stop", since), ("drop", None), ("stop", since), ("seal", None), ("stop", None),
        ("stop", BOOT_MS * 1000),
    ]  # fmt: skip


def test_the_last_record_of_all_may_have_the_moment_before_it(writer: MemoryWriter) -> None:
    buffer = buffer_of(writer)
    buffer.close(BOOT_MS, RECORD, BOOT_MS - 7)
    assert [(one["ev"], one.get("since")) for one in writer.take()] == [("open", None), ("stop", (BOOT_MS - 7) * 1000)]


TODAY = date(2026, 11, 21)


def fill(store: Store, days: int, files: int = 2, size: int = 200) -> list[Segment]:
    """``files`` closed files a day, oldest first, the last ones of today."""
    segments = [
        Segment(TODAY - timedelta(days=ago), 1_000 - ago, number)
        for ago in range(days - 1, -1, -1) for number in range(1, files + 1)
    ]  # fmt: skip
    for one in segments:
        store.folder(one.day).mkdir(parents=True, exist_ok=True)
        sealed = bytearray(b'{"boot":%d,"seq":%d,"ts":1,"ev":"seal"' % (one.boot, one.number) + BLANK)
        Chain().add(sealed)
        store.closed_path(one).write_bytes(sealed.ljust(size, b"x"))
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
    assert store.retain(TODAY, 0, 700) == segments[:7]
    assert store.closed() == [(one, 200) for one in segments[7:]]


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


def test_a_boot_has_a_number_of_its_own(store: Store) -> None:
    boot = 1_700_000_000_000
    assert store.free_boot(boot) == boot
    for number, path in enumerate((store.open_path, store.closed_path)):
        one = Segment(day_of(boot), boot + number, 1)
        path(one).parent.mkdir(parents=True, exist_ok=True)
        path(one).write_bytes(b"")
    assert store.free_boot(boot) == boot + 2
