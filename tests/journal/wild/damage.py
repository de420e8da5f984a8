"""Damages lines of a journal: as a disk might, as a careless editor might, and as somebody who means it."""

from __future__ import annotations

import random
from collections.abc import Callable

import orjson

ODD = (
    b"null", b"[]", b"{}", b'"x"', b'""', b"-1", b"0", b"1e400", b"NaN", b"1.5", b"true", b"9223372036854775807",
    b"18446744073709551615", b"99999999999999999999999", b"[" * 900 + b"]" * 900, b'{"a":' * 600 + b"1" + b"}" * 600,
    b'"\\ud800"', b'"' + b"x" * 100_000 + b'"', b'["reg"]', b'{"t":1}', b'[{"t":"T"}]', b"[[1,[2]]]",
)  # fmt: skip
LINES = (
    b"", b"{}", b"null", b"[1,2]", b"\xff\xfe\x00", b"\x00" * 4096, b"{" * 100_000, b"[" * 100_000, b'"ev"', b"garbage",
    b'{"boot":1}', b'{"boot":1,"seq":1,"ts":1,"ev":"reg"}', b'{"ev":"stop"}', b'{"a":' * 2_000,
)  # fmt: skip


def damaged(chance: random.Random, line: bytes) -> bytes:
    """Another line instead of this one; neither has its end."""
    kinds: tuple[Callable[[random.Random, bytes], bytes], ...] = (
        _flipped, _flipped, _cut, _without_a_key, _odd_value, _odd_value, _odd_value, _twice, _added, _replaced,
        _number,
    )  # fmt: skip
    return chance.choice(kinds)(chance, line).replace(b"\n", b" ")


def _flipped(chance: random.Random, line: bytes) -> bytes:
    data = bytearray(line)
    for _ in range(chance.choice((1, 1, 2, 8))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _cut(chance: random.Random, line: bytes) -> bytes:
    at = chance.randrange(len(line))
    return line[:at] if chance.random() < 0.5 else line[at:]


def _of_keys(record: dict[str, bytes]) -> bytes:
    return b"{" + b",".join(orjson.dumps(name) + b":" + value for name, value in record.items()) + b"}"


def _values(line: bytes) -> dict[str, bytes]:
    return {name: orjson.dumps(value) for name, value in orjson.loads(line).items()}


def _without_a_key(chance: random.Random, line: bytes) -> bytes:
    values = _values(line)
    del values[chance.choice(list(values))]
    return _of_keys(values)


def _odd_value(chance: random.Random, line: bytes) -> bytes:
    values = _values(line)
    values[chance.choice(list(values))] = chance.choice(ODD)
    return _of_keys(values)


def _added(chance: random.Random, line: bytes) -> bytes:
    name = chance.choice(
        ("live", "listed", "acting", "maps", "topics", "escaped", "end", "snap", "fs", "gcluster", "x")
    )
    return _of_keys(_values(line) | {name: chance.choice(ODD)})


def _twice(chance: random.Random, line: bytes) -> bytes:
    """A key twice: the second value counts."""
    name = chance.choice(list(_values(line)))
    return line[:-1] + b"," + orjson.dumps(name) + b":" + chance.choice(ODD) + b"}"


def _number(chance: random.Random, line: bytes) -> bytes:
    number = chance.choice((0, 1, 2**31, 2**62, 2**63 - 1, chance.randrange(500)))
    return _of_keys(_values(line) | {"seq": b"%d" % number})


def _replaced(chance: random.Random, _line: bytes) -> bytes:
    return chance.choice(LINES)
