"""Frames as commands: both header encodings, and what Java accepts of them."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header
from rocketns.errors import MalformedFrame
from rocketns.protocol import command, headers
from rocketns.protocol.bounds import EXT_PAIRS_MAX
from rocketns.protocol.codes import LanguageCode
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.headers import (
    decode_header,
)
from rocketns.protocol.json import fastjson
from tests.protocol.strategies import (
    INT_MAX,
    INT_MIN,
    JAVA,
    LONG_MAX,
    LONG_MIN,
    any_bytes,
    ints,
    json_values,
    longs,
    mutated,
    texts,
)

shorts = st.integers(-(2**15), 2**15 - 1)
ext_fields = st.dictionaries(texts.filter(bool), texts, max_size=4)
json_frames = st.builds(
    frame,
    st.builds(json_header, ints, st.none() | ext_fields, opaque=ints, version=ints, flag=ints),
    st.binary(max_size=20),
)
binary_frames = st.builds(
    lambda header, body: frame(header, body, ROCKETMQ),
    st.builds(binary_header, shorts, st.none() | ext_fields, opaque=ints, version=shorts, flag=ints,
              language=st.integers(0, 127), remark=st.binary(max_size=10)),
    st.binary(max_size=20),
)  # fmt: skip
any_headers = st.builds(frame, any_bytes, st.binary(max_size=20), st.integers(0, 255))


@pytest.mark.parametrize(("header", "expected"), JAVA["headers"], ids=lambda value: str(value)[:50])
def test_a_json_header_is_taken_as_java_takes_it(header: str, expected: Any) -> None:
    """B010, B011, B013, B014, B016, B017, B018, B019, B020, B021."""
    if expected is None:
        with pytest.raises(MalformedFrame):
            command.decode(frame(header.encode()))
    else:
        read = command.decode(frame(header.encode()))
        assert (read.code, read.version, read.flag, read.ext_fields) == expected


@pytest.mark.parametrize("header", JAVA["forgiven headers"])
def test_fields_that_nobody_reads_may_be_anything(header: str) -> None:
    assert command.decode(frame(header.encode())).code == 5


LEVELS = [b'{"x":' + b"[" * 1500 + b"]" * 1500 + b',"code":5}', b'{"extFields":{"a":' + b"[" * 300 + b"]" * 300 + b"}}"]


@pytest.mark.parametrize("header", [*JAVA["refused headers"], *LEVELS], ids=lambda header: repr(header[:30]))
def test_bytes_that_nobody_sends_close_the_connection(header: bytes) -> None:
    """Also levels that Python's stack has no room for."""
    with pytest.raises(MalformedFrame):
        command.decode(frame(header))


def binary(code: int = 105, remark: int = 0, ext: int = 0, rest: bytes = b"", header_length: int = -1) -> bytes:
    """A binary frame with any given lengths."""
    header = struct.pack(">hBhiiii", code, 0, 513, 1, 0, remark, ext) + rest
    length = len(header) if header_length < 0 else header_length
    return struct.pack(">iI", 4 + len(header), ROCKETMQ << 24 | length) + header


PAIR = b"\x00\x01k\x00\x00\x00\x01v"


def test_a_binary_header_that_ends_early_leaves_its_rest_to_the_body() -> None:
    read = command.decode(binary(rest=b"abc", header_length=23))
    assert read.body == b"a"  # one byte of body was announced, and it is read from where the fields ended


def test_a_binary_header_that_ends_late_has_no_bytes_for_its_body() -> None:
    with pytest.raises(MalformedFrame):
        command.decode(binary(ext=8, rest=PAIR, header_length=25))


def test_a_binary_header_has_a_limit_of_pairs() -> None:
    """Java takes as many as fit a frame, but each takes memory here and no request has more than a dozen."""
    most = EXT_PAIRS_MAX
    pairs = b"".join(b"\x00\x05%05d\x00\x00\x00\x01v" % i for i in range(most + 1))
    size = len(PAIR) + 4
    assert len(command.decode(binary(ext=most * size, rest=pairs[: most * size])).ext_fields or ()) == most
    with pytest.raises(MalformedFrame, match="fields"):
        command.decode(binary(ext=(most + 1) * size, rest=pairs))


@pytest.mark.parametrize(("byte", "name"), [*((c.value, c.name) for c in LanguageCode), (14, None), (255, None)])
def test_languages_are_known_by_their_byte(byte: int, name: str | None) -> None:
    """B025."""
    assert command.decode(frame(binary_header(1, language=byte), b"", ROCKETMQ)).language == name


@given(shorts, ext_fields, ints, shorts, ints, st.binary(max_size=20), st.sampled_from([JSON, ROCKETMQ]))
def test_frames_survive_the_way(
    code: int, ext: dict[str, str], opaque: int, version: int, flag: int, body: bytes, form: int
) -> None:
    """B024, B026."""
    header = (json_header if form == JSON else binary_header)(code, ext, opaque=opaque, version=version, flag=flag)
    read = command.decode(frame(header, body, form))
    assert (read.code, read.opaque, read.version, read.flag) == (code, opaque, version, flag)
    expected = ext if form == JSON else {key: value or None for key, value in ext.items()} or None
    assert read.ext_fields == expected
    assert read.body == (body or None)


@given(st.one_of(mutated(json_frames), mutated(binary_frames), any_headers, st.binary(max_size=40)))
@example(b"")
@example(b"\x00" * 7)
@example(frame(b'{"code":' + b"9" * 5000 + b"}"))
def test_any_bytes_are_a_command_or_a_malformed_frame(data: bytes) -> None:
    with suppress(MalformedFrame):
        read = command.decode(data)
        assert INT_MIN <= read.code <= INT_MAX
        assert INT_MIN <= read.opaque <= INT_MAX
        assert read.body is None or read.body


@given(st.dictionaries(st.sampled_from(["code", "flag", "opaque", "version", "language", "extFields"]), json_values))
def test_any_json_value_in_any_header_field(fields: dict[str, Any]) -> None:
    with suppress(MalformedFrame):
        read = command.decode(frame(fastjson.dumps(fields)))
        assert all(value is None or type(value) is str for value in (read.ext_fields or {}).values())


# Request headers from extFields: nothing is refused, and a value that does not parse counts as missing.

KINDS = [kind for name, kind in vars(headers).items() if name.endswith("RequestHeader")]


def request(ext: dict[str, str | None] | None) -> RemotingCommand:
    return RemotingCommand(0, 513, 1, 0, ext, None)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("ext", [None, {}, {"topic": None, "brokerId": None, "brokerName": None}], ids=str)
def test_missing_fields_keep_their_defaults(kind: Any, ext: dict[str, str | None] | None) -> None:
    """B082, B083: without extFields and with missing ones."""
    assert decode_header(request(ext), kind) == kind()


field_names = st.sampled_from(sorted({java for kind in KINDS for _, java, _ in headers._readers(kind)}))
field_texts = st.one_of(
    st.none(), st.text(max_size=8), longs.map(str), ints.map(str), st.text("+-0123456789 ", max_size=30)
)


@given(st.none() | st.dictionaries(field_names, field_texts), st.sampled_from(KINDS))
def test_any_fields_make_a_header(ext: dict[str, str | None] | None, kind: Any) -> None:
    header = decode_header(request(ext), kind)
    for name, _, _ in headers._readers(kind):
        value = getattr(header, name)
        assert value is None or isinstance(value, str | bool) or LONG_MIN <= value <= LONG_MAX
