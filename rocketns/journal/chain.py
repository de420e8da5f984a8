"""The chain of hashes through a journal's files: each seal covers all bytes since the one before it.

A seal is the end of a line: ``"prev"``, the hash of the seal before, and ``"hash"``. This is SHA-256, cut to
`HASH_CHARS` hexadecimal digits, of ``prev`` as text and of the bytes since the line of the seal before, up to the
digits of this hash. Control leaves room for a seal, and the writer's thread fills it in. See docs/security.md.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HASH_CHARS = 40
# What the first seal of all continues.
NO_HASH = "0" * HASH_CHARS
_MIDDLE = b'","hash":"'
_END = b'"}\n'
# The end of a record that is a seal, before it is filled in: instead of the closing brace, and with the line's end.
BLANK = b',"prev":"' + NO_HASH.encode() + _MIDDLE + NO_HASH.encode() + _END
_SEAL = re.compile(
    rb'\{"boot":(\d{1,18}),"seq":(\d{1,18}),"ts":-?\d{1,18},(?:"since":-?\d{1,18},)?"ev":"(?:seal|stop)",'
    rb'"prev":"([0-9a-f]{%d})","hash":"([0-9a-f]{%d})"\}\n' % (HASH_CHARS, HASH_CHARS)
)
_LINE_BYTES_MAX = 2 * HASH_CHARS + 160


class Seal(NamedTuple):
    """``begin`` and ``end`` are the place of its line; ``digits``: where its hash begins."""

    boot: int
    seq: int
    prev: str
    hash: str
    begin: int
    end: int

    @property
    def digits(self) -> int:
        return self.end - len(_END) - HASH_CHARS


class Span(NamedTuple):
    """Bytes of a file."""

    path: Path
    begin: int
    end: int


class Chain:
    """Fills seals in. Only the writer's thread calls `add`, once for all bytes in their order."""

    def __init__(self, prev: str = NO_HASH) -> None:
        self._prev = prev.encode()
        self._sum = hashlib.sha256(self._prev)

    def add(self, data: bytearray) -> None:
        """Whole lines. If the last one is a blank seal, fill it in. Takes 1.6 ms a MiB, without the GIL."""
        if not data.endswith(BLANK):
            self._sum.update(data)
            return
        digits = len(data) - len(_END) - HASH_CHARS
        prev = digits - len(_MIDDLE) - HASH_CHARS
        data[prev : prev + HASH_CHARS] = self._prev
        with memoryview(data) as view:
            self._sum.update(view[:digits])
        self._prev = self._sum.hexdigest()[:HASH_CHARS].encode()
        data[digits : digits + HASH_CHARS] = self._prev
        self._sum = hashlib.sha256(self._prev)


def hash_of(prev: str, spans: Iterable[Span]) -> str:
    """The hash of a seal after ``prev`` that covers these bytes. OSError."""
    made = hashlib.sha256(prev.encode())
    for span in spans:
        with span.path.open("rb") as file:  # not mapped: a fault of the disk would end the process
            file.seek(span.begin)
            left = span.end - span.begin
            while left > 0 and (piece := file.read(min(left, 1 << 20))):
                made.update(piece)
                left -= len(piece)
    return made.hexdigest()[:HASH_CHARS]


def link(files: Sequence[Path]) -> str:
    """What the first seal of a boot continues: the last seal of the files before, and what follows it. OSError."""
    behind: list[Span] = []
    for path in reversed(files):
        with mapped(path) as content:
            seal, size = last_seal(content), len(content)
        behind.insert(0, Span(path, 0 if seal is None else seal.end, size))
        if seal is not None:
            return link_after(seal.hash, behind)
    return link_after(NO_HASH, behind)


def link_after(sealed: str, behind: Sequence[Span]) -> str:
    """What the first seal of a boot continues after the seal ``sealed`` and the bytes behind it. OSError."""
    return hash_of(sealed, behind) if any(span.begin < span.end for span in behind) else sealed


def is_self_contained(path: Path) -> bool:
    """Whether the first seal of a file covers nothing before the file, so that it can be checked without. OSError."""
    with mapped(path) as content:
        seal = next(seals(content), None)
        return seal is not None and hash_of(seal.prev, [Span(path, 0, seal.digits)]) == seal.hash


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    """The content of a file, which is not read at once."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def seals(content: mmap.mmap | bytes) -> Iterator[Seal]:
    """All seals of a file, in their order."""
    offset = content.find(_MIDDLE)
    while offset >= 0:
        seal = _seal_around(content, offset)
        if seal is not None:
            yield seal
        offset = content.find(_MIDDLE, offset + 1)


def last_seal(content: mmap.mmap | bytes) -> Seal | None:
    """The last seal of a file."""
    offset = content.rfind(_MIDDLE)
    while offset >= 0:
        seal = _seal_around(content, offset)
        if seal is not None:
            return seal
        offset = content.rfind(_MIDDLE, 0, offset)
    return None


def _seal_around(content: mmap.mmap | bytes, offset: int) -> Seal | None:
    """The seal whose hash is named at this place."""
    begin = content.rfind(b"\n", max(0, offset - _LINE_BYTES_MAX), offset) + 1
    end = offset + len(_MIDDLE) + HASH_CHARS + len(_END)
    match = _SEAL.fullmatch(content[begin:end]) if offset - begin <= _LINE_BYTES_MAX else None
    if match is None:
        return None
    return Seal(int(match[1]), int(match[2]), match[3].decode(), match[4].decode(), begin, end)
