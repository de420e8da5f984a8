"""Compiled parsers of bytes from peers give what their Python twins give: frames, headers, JSON."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import orjson
import pytest
from construct import ConstructError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import json_passes, wire
from rocketns._fast.codec.json_passes import compact, count_values
from rocketns.protocol import bounds, spec
from tests.protocol.strategies import INT_MAX, INT_MIN, any_bytes, ints, json_texts, json_values, mutated, texts
from tests.support import frames as reference

MAX = bounds.FRAME_SIZE_MAX_BYTES

headers = st.one_of(
    st.binary(max_size=40), st.just(json_header(105, {"topic": "T"})), st.just(binary_header(105, {"topic": "T"}))
)
valid_frames = st.builds(frame, headers, st.binary(max_size=40), st.sampled_from([JSON, ROCKETMQ]))
hostile_frames = st.builds(
    lambda length, word, rest: struct.pack(">iI", length, word) + rest,
    st.one_of(st.integers(-(2**31), INT_MAX), st.integers(-4, 40), st.integers(MAX - 8, MAX + 8)),
    st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(2**24 - 1, 2**24 + 40)),
    st.binary(max_size=40),
)
limits = st.one_of(st.just(MAX), st.integers(0, 100), st.integers(0, 2**32 - 1))


buffers = st.lists(
    st.one_of(valid_frames, mutated(valid_frames), hostile_frames, st.binary(max_size=20)), max_size=4
).map(b"".join)


@given(buffers, limits)
@example(b"", MAX)
@example(struct.pack(">iI", INT_MAX, 0), 2**32 - 1)
@example(struct.pack(">iI", -1, 0), 2**32 - 1)
@settings(deadline=None)
def test_equals_the_twin_at_every_offset(buffer: bytes, frame_size_max: int) -> None:
    for start in range(len(buffer) + 1):
        expected = reference.next_frame(buffer, start, frame_size_max)
        assert wire.next_frame(buffer, start, frame_size_max) == expected, (buffer, start)


@example(b"x", -(2**63))  # their difference does not fit into 64 bits
@given(buffers, st.one_of(st.integers(-(2**63), -1), st.integers(1, 2**62)))
@settings(deadline=None)
def test_refuses_a_start_outside_the_buffer(buffer: bytes, distance: int) -> None:
    start = distance if distance < 0 else len(buffer) + distance
    for next_frame in (wire.next_frame, reference.next_frame):
        with pytest.raises(ValueError, match="outside a buffer"):
            next_frame(buffer, start, MAX)


def whole(length: int, word: int = 0x0000_0002) -> bytes:
    return struct.pack(">iI", length, word)[: 4 + max(length, 0)].ljust(4 + max(length, 0), b"x")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack(">i", MAX - 3), -1),
        (whole(MAX - 4, 0x00FF_FFF8), MAX),
        (struct.pack(">i", MAX - 4), 0),
        (struct.pack(">i", -1), -1),
        (b"\xff\xff\xff", 0),
        (whole(0), -1),
        (whole(3), -1),
        (whole(4, 0x0000_0000), -1),
        (whole(4, 0x0100_0000), 8),
        (whole(6, 0x0000_0002), 10),
        (whole(6, 0x0000_0003), -1),
        (whole(6, 0x0200_0002), -1),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_size_of_the_frame_at_the_edges(data: bytes, expected: int) -> None:
    for next_frame in (wire.next_frame, reference.next_frame):
        assert next_frame(bytearray(data), 0, MAX) == expected
        assert next_frame(memoryview(b"\x00" * 5 + data), 5, MAX) == expected


# Binary headers: the compiled parser agrees with the Construct declaration.

REFUSED = "refused"
FIELDS_MAX = 1024
PAIR = b"\x00\x01k\x00\x00\x00\x01v"


def header_reference(data: bytes, header_length: int) -> Any:
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
        return wire.read_binary_header(data, start, header_length, spec.EXT_PAIRS_MAX)
    except ValueError:
        return REFUSED


def check(data: bytes, header_length: int) -> Any:
    taken = fast(data, header_length)
    assert taken == header_reference(data, header_length)
    shifted = fast(memoryview(b"12345678" + data), header_length, 8)  # type: ignore[arg-type]
    assert shifted == (REFUSED if taken == REFUSED else (*taken[:-1], taken[-1] + 8))
    return taken


shorts = st.integers(-(2**15), 2**15 - 1)
whole_headers = st.builds(
    binary_header, shorts, st.none() | st.dictionaries(texts, texts, max_size=4), opaque=ints, version=shorts,
    flag=ints, language=st.integers(0, 127), remark=st.binary(max_size=10),
)  # fmt: skip
lengths = st.sampled_from([-1, INT_MIN, INT_MAX, 0, 1, 7, 8, 9, 15, 16, 17, 20, 21, 22, 30, 1000])


@given(whole_headers, st.binary(max_size=10), mutated(whole_headers), st.integers(-1, 60))
def test_any_headers(header: bytes, body: bytes, data: bytes, header_length: int) -> None:
    assert check(header + body, len(header)) != REFUSED
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


def test_every_byte_replaced_or_cut() -> None:
    whole = binary_header(105, {"topic": "T", "e": "", "": "x"}, remark=b"r") + b"body"
    for at in range(len(whole)):
        check(whole[:at], len(whole) - 4)
        for byte in b"\x00\x01\x7f\x80\xff":
            check(whole[:at] + bytes([byte]) + whole[at + 1 :], len(whole) - 4)


def test_the_limit_of_fields() -> None:
    data = binary_header(1, {f"{number}": "" for number in range(FIELDS_MAX + 1)})
    assert len(wire.read_binary_header(data, 0, len(data), FIELDS_MAX + 1)[5] or ()) == FIELDS_MAX + 1
    with pytest.raises(ValueError, match="1024 fields"):
        wire.read_binary_header(data, 0, len(data), FIELDS_MAX)


# Scans of JSON text: the count of values is an upper bound, and only numeric keys get quotes.

NUMERIC_KEY = re.compile(rb"([{,]\s*)(0|-?[1-9]\d{0,17})(\s*:)")
MOST = 1 << 30


def objects_in(value: Any) -> int:
    """The number of values: list items count once, members twice."""
    if isinstance(value, dict):
        return sum(2 + objects_in(item) for item in value.values())
    return sum(1 + objects_in(item) for item in value) if isinstance(value, list) else 0


@given(json_texts())
def test_no_more_values_than_are_counted(text: bytes) -> None:
    assert objects_in(orjson.loads(text)) <= count_values(text, MOST)
    # marks in strings do not count where it matters
    outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", text)
    marks = sum(outside.count(mark) for mark in (b",", b":", b"[", b"{"))
    assert count_values(text, marks) == marks
    if marks:
        assert count_values(text, marks - 1) == marks


@pytest.mark.parametrize("text", [b"", b'"' + b"," * 100 + b'"', b'"\\"' + b"," * 100, b'"' * 3 + b"[" * 3])
def test_a_count_ends_with_its_bytes(text: bytes) -> None:
    assert count_values(text, 2) == 0


def unquoted(value: Any) -> bytes:
    """JSON text whose whole-number keys have no quotes."""
    return re.sub(rb'(?<=[{,])"(-?\d+)"(?=:)', rb"\1", json.dumps(value, separators=(",", ":")).encode())


@given(st.dictionaries(ints.map(str), json_values, max_size=3))
def test_numeric_keys_get_quotes(members: dict[str, Any]) -> None:
    text = unquoted({"a": members})
    quoted = compact(text)
    if quoted is not None:
        assert orjson.loads(quoted) == orjson.loads(json.dumps({"a": members}))
    else:
        assert not members
    assert compact(b'{"a":"{5:1,6:2}"}') is None
    assert compact(b'{5:"{6:",7 : 1,-8:2}') == b'{"5":"{6:","7":1,"-8":2}'


@given(any_bytes)
def test_numeric_keys_of_any_bytes_get_quotes_like_the_pattern(text: bytes) -> None:
    assert 0 <= count_values(text, 3) <= 4
    try:
        expected = orjson.loads(NUMERIC_KEY.sub(rb'\1"\2"\3', text))
    except ValueError:
        return
    assert orjson.loads(compact(text) or text) == expected


# Values of parsed JSON that are wanted as text.


def floats_in(value: Any) -> list[float]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, float) else [found for item in inner for found in floats_in(item)]


@given(json_values)
def test_every_float_is_a_leaf(value: Any) -> None:
    leaves: list[Any] = []
    json_passes.shown(value, 128, leaves.append)
    assert [leaf for leaf in leaves if isinstance(leaf, float)] == floats_in(value)


def test_levels_have_a_limit() -> None:
    value: Any = []
    for _ in range(5):
        value = [value]
    assert json_passes.shown(value, 5, None) == value
    with pytest.raises(RecursionError):
        json_passes.shown(value, 4, None)


def test_nulls_of_objects_are_left_out_and_those_of_lists_stay() -> None:
    """As fastjson2 writes a value."""
    value = {"a": None, "b": [None, 1, {"c": None}]}
    assert json_passes.shown(value, 9, lambda leaf: leaf) == {"b": [None, 1, {}]}


# The compiled check of a PROXY header's extensions against its definition.


COMPILED = re.compile(r"^    ([A-Z][A-Z0-9_]*) = ([0-9][0-9_]*)\s*(?:#.*)?$", re.MULTILINE)


def test_bounds_of_the_same_name_are_the_same_in_compiled_code_and_in_python() -> None:
    compiled = Path(bounds.__file__).parents[1] / "_fast"
    sources = [path.read_text("utf-8") for path in compiled.rglob("*.p[yx][xd]")]
    found = {(name, int(text)) for source in sources for name, text in COMPILED.findall(source) if name in vars(bounds)}
    assert {"BLOCKS_MAX", "MAPPINGS_MAX"} <= {name for name, _ in found}
    assert found <= vars(bounds).items()
