"""The file of a recording: written once, for its owner alone and bounded; read with bounds, line by line."""

from __future__ import annotations

import heapq
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.hashed_pairs import hashed
from rocketns.shadow.recording.hashing import Names
from rocketns.shadow.recording.lines import (
    LINE_BYTES_MAX,
    Head,
    Recorded,
    RecordingError,
    head_line,
    pair_line,
    read_head,
    read_pair,
)
from rocketns.shadow.recording.secrets import without_secrets
from rocketns.shadow.recording.tree import UnreadableError

BYTES_MAX = 256 * 1024 * 1024
PAIRS_MAX = 1_000_000
"""What `--record` writes at most by default. A reader takes as many pairs, and stops with an error at more."""
READ_PAIRS_MAX = 10_000_000
_KEY_BYTES = 32
_MODE = 0o600

LATE_MS_MAX = 30_000
"""So much later than another one a pair may have been written."""

HELD_MAX = 100_000
HELD_BYTES_MAX = 64 * 1024 * 1024
"""Pairs that are held back, and the bytes of their frames. Beyond it the earliest one goes on."""


class Recorder:
    """Writes pairs to a new file. Any pair beyond a bound, or that nobody can read, is left out and counted.

    ``recorded``, ``without_room`` and ``unreadable`` count pairs.
    """

    def __init__(self, path: Path, *, hash_names: bool = False, bytes_max: int = BYTES_MAX, pairs_max: int = PAIRS_MAX,
                 note: str = "") -> None:  # fmt: skip
        """Makes the file. FileExistsError if there is one: no recording is overwritten or followed through a link."""
        self.recorded = self.without_room = self.unreadable = 0
        self._names = Names(secrets.token_bytes(_KEY_BYTES)) if hash_names else None
        self._bytes_max, self._pairs_max, self._written = bytes_max, pairs_max, 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, _MODE), "wb")
        self._write(head_line(Head(hash_names, note)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_full(self) -> bool:
        """Whether nothing more is written."""
        return self.without_room > 0

    def record(self, pair: Pair, outcome: Outcome | None = None) -> None:
        """Write one pair without its secrets. OSError if the file cannot be written."""
        if self.is_full or self.recorded >= self._pairs_max:
            self.without_room += 1
            return
        try:
            line = pair_line(Recorded(self._safe(pair), outcome))
        except UnreadableError:
            self.unreadable += 1
            return
        if self._written + len(line) > self._bytes_max:
            self.without_room += 1
            return
        self._write(line)
        self.recorded += 1

    def flush(self) -> None:
        """What was recorded is in the file."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _safe(self, pair: Pair) -> Pair:
        clean = without_secrets(pair)
        return clean if self._names is None else hashed(clean, self._names)

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._written += len(line)


class Recording:
    """A file that is read. RecordingError where it is no recording; OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size_bytes = path.stat().st_size
        with path.open("rb") as file:
            self.head = read_head(_line_of(file) or b"")

    def pairs(self) -> Iterator[tuple[int, Recorded]]:
        """Each pair, with the bytes of the file up to its end. A last line that was cut is left out.

        RecordingError with the number of the line where one cannot be read.
        """
        with self._path.open("rb") as file:
            _line_of(file)
            for number in range(2, READ_PAIRS_MAX + 2):
                line = _line_of(file, number)
                if line is None:
                    return
                yield file.tell(), _read(line, number)
        raise RecordingError(f"more than {READ_PAIRS_MAX} pairs")


def _read(line: bytes, number: int) -> Recorded:
    try:
        return read_pair(line)
    except RecordingError as error:
        raise RecordingError(f"line {number}: {error}") from error


def _line_of(file: BinaryIO, number: int = 1) -> bytes | None:
    """The next whole line; None at the end, or where the last one was cut."""
    line = file.readline(LINE_BYTES_MAX)
    if line.endswith(b"\n"):
        return line
    if len(line) == LINE_BYTES_MAX:
        raise RecordingError(f"line {number}: more than {LINE_BYTES_MAX} bytes")
    return None


def in_time(pairs: Iterable[tuple[int, Recorded]]) -> Iterator[tuple[int, Recorded]]:
    """By the time of the upstream's answer, or of the request without one; equal ones stay as they are in the file."""
    held: list[tuple[float, int, int, Recorded]] = []
    held_bytes, latest_ms = 0, 0.0
    for number, (end, recorded) in enumerate(pairs):
        at_ms = recorded.pair.at_ms + (recorded.pair.upstream_ms or 0.0)
        heapq.heappush(held, (at_ms, number, end, recorded))
        held_bytes += _size(recorded.pair)
        latest_ms = max(latest_ms, at_ms)
        while held[0][0] < latest_ms - LATE_MS_MAX or len(held) > HELD_MAX or held_bytes > HELD_BYTES_MAX:
            _, _, one_end, one = heapq.heappop(held)
            held_bytes -= _size(one.pair)
            yield one_end, one
            if not held:
                break
    while held:
        _, _, one_end, one = heapq.heappop(held)
        yield one_end, one


def _size(pair: Pair) -> int:
    return len(pair.request) + len(pair.upstream or b"") + len(pair.own or b"")
