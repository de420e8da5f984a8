"""The request code peeked from an undecoded frame is the decoder's, or none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec.wire import next_frame
from rocketns.errors import MalformedFrame
from rocketns.protocol import command
from rocketns.server.requests.peek import UNKNOWN, request_code, seems_lookup


@pytest.mark.parametrize("code", [0, 103, 105, 904, 32_767])
def test_usual_headers(code: int) -> None:
    assert request_code(frame(json_header(code, {"topic": "T"}), b"body")) == code
    assert request_code(memoryview(frame(json_header(code)))) == code
    assert request_code(frame(binary_header(code, {"topic": "T"}), b"body", ROCKETMQ)) == code


def test_a_negative_code_of_a_binary_header() -> None:
    """Two bytes with a sign, as the decoder reads them."""
    whole = frame(binary_header(-7), b"", ROCKETMQ)
    assert request_code(whole) == command.decode(whole).code == -7


@pytest.mark.parametrize(("code", "expected"), [(105, True), (103, False), (1_050, False), (5_105, False)])
def test_lookups_as_clients_write_them(code: int, expected: bool) -> None:
    assert seems_lookup(frame(json_header(code, {"topic": "T"}))) is expected
    assert seems_lookup(frame(binary_header(code, {"topic": "T"}), b"", ROCKETMQ)) is expected
    assert not seems_lookup(memoryview(frame(json_header(code))))


@pytest.mark.parametrize(
    "header",
    [
        b"{}",
        b"{'code':103}",
        b'{"code":"103"}',
        b'{"code":1e2}',
        b'{"code":103,"code":105}',
        b'{"extFields":{"code":"105"},"code":103}',
        b'{"\\u0063ode":103,"extFields":{"code":105}}',
        b'{"code":105,"extFields":{"a":"' + b"x" * 4_096 + b'"}}',
    ],
)
def test_unusual_headers_are_left_to_the_decoder(header: bytes) -> None:
    """A registration mistaken for a lookup would be dropped with its connection."""
    assert request_code(frame(header)) == UNKNOWN


names = st.sampled_from(["code", "Code", "c\\u006fde", "extFields", "opaque", "x"])
values = st.recursive(
    st.sampled_from(["105", "103", '"103"', "1.0", "null", "-1", '"code"', "'code'"]),
    lambda inner: st.lists(st.tuples(names, inner), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(names, values), max_size=4), st.sampled_from(["", " "]))
def test_a_guess_is_the_decoders(pairs: list[tuple[str, str]], space: str) -> None:
    """The header has no code, or cannot be decoded."""
    whole = frame(("{" + ",".join(f'{space}"{name}":{value}' for name, value in pairs) + "}").encode())
    assert next_frame(whole, 0, 1 << 24) == len(whole)
    try:
        decoded = command.decode(whole).code
    except (MalformedFrame, json.JSONDecodeError):
        return
    assert request_code(whole) in (UNKNOWN, decoded) or decoded == 0
