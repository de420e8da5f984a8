"""Which files are read, and from which record on: the last whole snapshot, or a start with empty tables."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rocketns.journal.reading.lines import record_of
from rocketns.journal.restore.lines import File, is_snapshot_end
from rocketns.journal.segments import Segment

END = b'"end":true'


class Begin(NamedTuple):
    """Read the files from number ``file`` on, and of its boot the records from ``seq`` on."""

    file: int
    seq: int


class JournalFile(NamedTuple):
    """A file of the journal, closed or left open."""

    segment: Segment
    path: Path


def begins(files: Sequence[JournalFile]) -> Iterator[Begin]:
    """Where reading may begin, the best first. ``files`` are in the order in which they were written.

    A snapshot's end is found; whether all of the snapshot is there, only reading it shows. Then comes the next best.
    """
    for number in range(len(files) - 1, -1, -1):
        for seq in _snapshots_that_end_in(files[number]):
            yield _begin_of(files, number, seq)
        if files[number].segment.number == 1 and _began_empty(files[number]):
            yield Begin(number, 0)
            return
    if files:
        yield Begin(0, 0)


def _snapshots_that_end_in(journal_file: JournalFile) -> Iterator[int]:
    """Names (the column ``snap``) of the snapshots that end in this file, the last one first."""
    with journal_file.path.open("rb") as file:
        if not file.seek(0, 2):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _ends(content, journal_file.segment.boot)


def _ends(content: mmap.mmap, boot: int) -> Iterator[int]:
    place = content.rfind(END)
    while place >= 0:
        start = content.rfind(b"\n", 0, place) + 1
        name = _snapshot_name(content[start : place + len(END) + 1], boot)
        if name is not None:
            yield name
        place = content.rfind(END, 0, start)


def _snapshot_name(line: bytes, boot: int) -> int | None:
    record = record_of(line)
    if record is None or not is_snapshot_end(record) or (record["ev"], record["boot"]) != ("snap", boot):
        return None
    return record["snap"] if type(record["snap"]) is int and record["snap"] > 0 else None


def _begin_of(files: Sequence[JournalFile], number: int, seq: int) -> Begin:
    """The file of the same boot that has the record ``seq``, looking back from the file ``number``."""
    boot = files[number].segment.boot
    while number > 0 and files[number - 1].segment.boot == boot and _first_seq(files[number]) > seq:
        number -= 1
    return Begin(number, seq)


def _first_seq(journal_file: JournalFile) -> int:
    first = next(File(journal_file.path, journal_file.segment.boot).records(), None)
    return 0 if first is None else int(first["seq"])


def _began_empty(journal_file: JournalFile) -> bool:
    """Whether the boot that begins with this file began without routes. If its start is damaged, nobody knows."""
    first = File(journal_file.path, journal_file.segment.boot).first_records()
    return any(one["ev"] == "start" and one.get("restored") is not True for one in first)
