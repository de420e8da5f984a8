"""The KV file in Java's format: ``{"configTable":{"ns":{"k":"v"}}}``. The writer's thread makes it from changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rocketns.protocol.json import fastjson

# Encoded at a time. Control can run after each piece, within half a millisecond.
CHUNK_BYTES = 64 * 1024
ITEM_BYTES = 100  # the cost of an item in addition to its texts


class KvChange(NamedTuple):
    """The new value of a key in a namespace. None removes the key; the namespace stays."""

    namespace: str
    key: str
    value: str | None


class KvFile:
    """The content of the file. After `fill` only the writer's thread uses it. Without a path it is never written."""

    failure = "persist kvconfig Exception"

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._tables: dict[str, dict[str, str]] = {}

    def fill(self, tables: Mapping[str, Mapping[str, str | None]]) -> None:
        """Start with the content that was read from the file."""
        self._tables = {
            name: {key: value for key, value in table.items() if value is not None} for name, table in tables.items()
        }

    def chunks(self, changes: list[KvChange | None]) -> Iterable[bytes]:
        """The content after these changes. None is no change: Java writes the file even then."""
        for change in changes:
            if change is not None:
                self._apply(change)
        return _joined(self._pieces())

    def _apply(self, change: KvChange) -> None:
        table = self._tables.setdefault(change.namespace, {})
        if change.value is None:
            table.pop(change.key, None)
        else:
            table[change.key] = change.value

    def _pieces(self) -> Iterator[bytes]:
        yield b'{"configTable":{'
        for number, (name, table) in enumerate(self._tables.items()):
            yield b"," if number else b""
            yield from _text(name)
            yield b":{"
            for index, batch in enumerate(_batches(table)):
                yield b"," if index else b""
                yield from _members(batch)
            yield b"}"
        yield b"}}"


def _batches(table: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Batches of about `CHUNK_BYTES`. A larger item is a batch of its own."""
    batch: dict[str, str] = {}
    size = 0
    for key, value in table.items():
        item_size = len(key) + len(value) + ITEM_BYTES
        if batch and size + item_size > CHUNK_BYTES:
            yield batch
            batch, size = {}, 0
        batch[key] = value
        size += item_size
    if batch:
        yield batch


def _members(batch: dict[str, str]) -> Iterator[bytes]:
    if len(batch) > 1:
        yield fastjson.dumps(batch)[1:-1]
        return
    for key, value in batch.items():
        yield from _text(key)
        yield b":"
        yield from _text(value)


def _text(text: str) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, len(text), CHUNK_BYTES):
        yield fastjson.dumps(text[start : start + CHUNK_BYTES])[1:-1]
    yield b'"'


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Joins small pieces, so that the file is written with fewer system calls."""
    some: list[bytes] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece) + ITEM_BYTES
        if size >= CHUNK_BYTES:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)
