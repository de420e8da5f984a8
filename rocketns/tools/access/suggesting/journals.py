"""The records of refused requests in journals, one after another, whatever else is in the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from rocketns.journal import encoding
from rocketns.journal.lines import Record, record_of, typed
from rocketns.journal.segments import NAME, OPEN_PREFIX

# Fields are cut before they are recorded, so no record of a refusal is longer.
LINE_BYTES_MAX = 256 * 1024
REFUSED = "refused"
_IN_LINE = b'"refused"'


class JournalError(Exception):
    """A journal cannot be read; the message says why."""


class Journals:
    """``unreadable`` counts lines that look like a refusal and are no record of one."""

    def __init__(self, paths: Sequence[str], since_us: int) -> None:
        self._paths, self._since_us = paths, since_us
        self.files = 0
        self.unreadable = 0

    def refusals(self) -> Iterator[Record]:
        """Since ``since_us``. JournalError."""
        for path in self._paths:
            found = _files(Path(path))
            if not found:
                raise JournalError(f"{path}: there is no journal")
            for file in found:
                yield from self._of_file(file)

    def _of_file(self, path: Path) -> Iterator[Record]:
        try:
            with _opened(path) as file:
                self.files += 1
                for line in _lines(file):
                    if _IN_LINE in line and (record := self._record(line)) is not None:
                        yield record
        except FileNotFoundError:
            return  # it was old, and is deleted by now
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}") from error

    def _record(self, line: bytes) -> Record | None:
        """The record of a refusal; None of any other."""
        record = record_of(line)
        if record is None:
            self.unreadable += 1
            return None
        if record["ev"] != REFUSED or record["ts"] < self._since_us:
            return None
        try:
            whole = encoding.unescaped(record) if record.get("escaped") is True else record
            return typed(whole)
        except ValueError:
            self.unreadable += 1
            return None


def _files(path: Path) -> list[Path]:
    """A file; or those of a journal's folder, or of a folder of journals, by their days and names."""
    if path.is_file():
        return [path]
    found = (each for each in path.rglob("*") if NAME.fullmatch(each.name) and each.is_file())
    return sorted(found, key=lambda each: (each.parent, each.name.removeprefix(OPEN_PREFIX)))


def _opened(path: Path) -> BinaryIO:
    """An open file may have been closed meanwhile, and has another name then."""
    try:
        return path.open("rb", buffering=1 << 20)
    except FileNotFoundError:
        closed = path.with_name(f"{path.name.removeprefix(OPEN_PREFIX)}.jsonl")
        if not path.name.startswith(OPEN_PREFIX):
            raise
        return closed.open("rb", buffering=1 << 20)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines. One that is too long is passed over."""
    is_rest = False
    while line := file.readline(LINE_BYTES_MAX):
        ends = line.endswith(b"\n")
        if ends and not is_rest:
            yield line
        is_rest = not ends
