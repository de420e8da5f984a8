"""The KV file as Java writes it: ``{"configTable":{"ns":{"k":"v"}}}``. Made from changes, beside control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rocketns.protocol.json import fastjson

# Encoded in one go: the interpreter is free for control after each piece, within half a millisecond.
CHUNK_BYTES = 64 * 1024
ITEM_BYTES = 100  # what an item costs besides its texts


class KvChange(NamedTuple):
    """A key of a namespace has this value; None where it has none. The namespace is there then."""

    namespace: str
    key: str
    value: str | None


class KvFile:
    """Holds what the file is to hold. After `fill` it is used by the writer's thread only."""

    failure = "persist kvconfig Exception"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tables: dict[str, dict[str, str]] = {}

    def fill(self, tables: Mapping[str, Mapping[str, str | None]]) -> None:
        """Begin with what was read."""
        self._tables = {
            name: {key: value for key, value in table.items() if value is not None} for name, table in tables.items()
        }

    def chunks(self, changes: list[KvChange | None]) -> Iterable[bytes]:
        """The content after these changes. None changes nothing: Java writes the file all the same."""
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
            for place, batch in enumerate(_batches(table)):
                yield b"," if place else b""
                yield from _members(batch)
            yield b"}"
        yield b"}}"


def _batches(table: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """About `CHUNK_BYTES` of items each; an item that has more is alone."""
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
    """Fewer, larger pieces, so that each write of the file is worth its system call."""
    some: list[bytes] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece) + ITEM_BYTES
        if size >= CHUNK_BYTES:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)
