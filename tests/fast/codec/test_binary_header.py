"""Binary headers: the compiled parser agrees with the Construct declaration."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from construct import ConstructError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.wire import binary_header
from rocketns._fast.codec import binary_header as compiled
from rocketns.protocol import spec
from tests.protocol.strategies import INT_MAX, INT_MIN, ints, mutated, texts

REFUSED = "refused"
FIELDS_MAX = 1024
PAIR = b"\x00\x01k\x00\x00\x00\x01v"


def reference(data: bytes, header_length: int) -> Any:
    try:
        header = spec.BINARY_HEADER.parse(data, header_length=header_length)
    except ConstructError:
        return REFUSED
    pairs = header.ext or ()
    ext = {_text(p.key): _text(p.value) or None for p in pairs if p.key} if header.ext_length > 0 else None
    return header.code, header.language, header.version, header.opaque, header.flag, ext, header.end


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def fast(data: bytes, header_length: int, start: int = 0) -> Any:
    try:
        return compiled.parse(data, start, header_length, spec.EXT_PAIRS_MAX)
    except ValueError:
        return REFUSED


def check(data: bytes, header_length: int) -> Any:
    taken = fast(data, header_length)
    assert taken == reference(data, header_length)
    shifted = fast(memoryview(b"12345678" + data), header_length, 8)  # type: ignore[arg-type]
    assert shifted == (REFUSED if taken == REFUSED else (*taken[:-1], taken[-1] + 8))
    return taken


shorts = st.integers(-(2**15), 2**15 - 1)
headers = st.builds(
    binary_header, shorts, st.none() | st.dictionaries(texts, texts, max_size=4), opaque=ints, version=shorts,
    flag=ints, language=st.integers(0, 127), remark=st.binary(max_size=10),
)  # fmt: skip
lengths = st.sampled_from([-1, INT_MIN, INT_MAX, 0, 1, 7, 8, 9, 15, 16, 17, 20, 21, 22, 30, 1000])


@given(headers, st.binary(max_size=10))
def test_valid_headers(header: bytes, body: bytes) -> None:
    assert check(header + body, len(header)) != REFUSED


@given(mutated(headers), st.integers(0, 60))
@settings(max_examples=500)
def test_mutated_headers(data: bytes, header_length: int) -> None:
    check(data, header_length)
    check(data, len(data))


@given(lengths, lengths, st.lists(st.tuples(lengths, lengths, st.booleans()), max_size=3), st.integers(0, 60))
@example(0, 8, [(1, 1, True)], 60)
def test_hostile_lengths(remark: int, ext: int, pairs: list[tuple[int, int, bool]], header_length: int) -> None:
    data = struct.pack(">hBhiiii", 105, 0, 513, 1, 0, remark, ext)
    for key, value, filled in pairs:
        data += struct.pack(">h", key & 0x7FFF if filled else -1) + b"k" * (filled and max(0, min(key, 40)))
        data += struct.pack(">i", value) + b"v" * (filled and max(0, min(value, 40)))
    check(data, header_length)


def test_a_header_cut_at_any_byte() -> None:
    whole = binary_header(105, {"topic": "T", "e": "", "": "x"}, remark=b"r")
    for end in range(len(whole) + 1):
        check(whole[:end], len(whole))


def test_every_byte_replaced() -> None:
    whole = binary_header(105, {"topic": "T", "e": ""}, remark=b"r") + b"body"
    for at in range(len(whole)):
        for byte in b"\x00\x01\x7f\x80\xff":
            check(whole[:at] + bytes([byte]) + whole[at + 1 :], len(whole) - 4)


@given(st.binary(max_size=60), st.integers(-1, 70))
def test_any_bytes(data: bytes, header_length: int) -> None:
    check(data, header_length)


def test_bad_utf_8_is_replaced() -> None:
    assert check(binary_header(1)[:-4] + struct.pack(">i", 8) + PAIR.replace(b"v", b"\xff"), 40)[5] == {"k": "\ufffd"}


@pytest.mark.parametrize("start", [-1, 22, 1 << 40])
def test_a_start_outside_is_refused(start: int) -> None:
    with pytest.raises(ValueError, match="shorter"):
        compiled.parse(binary_header(1), start, 21, FIELDS_MAX)


def test_the_limit_of_fields() -> None:
    data = binary_header(1, {f"{number}": "" for number in range(FIELDS_MAX + 1)})
    assert len(compiled.parse(data, 0, len(data), FIELDS_MAX + 1)[5] or ()) == FIELDS_MAX + 1
    with pytest.raises(ValueError, match="1024 fields"):
        compiled.parse(data, 0, len(data), FIELDS_MAX)
