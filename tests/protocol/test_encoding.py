"""Answers and the server's own requests as frames, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import decode_binary_header
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply, encode_request
from rocketns.protocol.frame import FRAME_SIZE_MAX_BYTES, next_frame
from tests.protocol.strategies import ints, texts

JSON, ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ


def json_header(frame: bytes) -> bytes:
    return frame[8 : 8 + int.from_bytes(frame[5:8], "big")]


@pytest.mark.parametrize(
    ("reply", "header"),
    [
        (Reply(), b'{"code":0,"flag":1,"language":"JAVA","opaque":106,"serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(ext_fields={}), b'{"code":0,"extFields":{},"flag":1,"language":"JAVA","opaque":106,'
                               b'"serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(22, 'a "b"\n', {"v": "1", "w": None, "x": ""}),
         b'{"code":22,"extFields":{"v":"1","x":""},"flag":1,"language":"JAVA","opaque":106,'
         b'"remark":"a \\"b\\"\\n","serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(1, "\ud800"), b'{"code":1,"flag":1,"language":"JAVA","opaque":106,"remark":"?",'
                             b'"serializeTypeCurrentRPC":"JSON","version":513}'),
    ],
)  # fmt: skip
def test_a_json_answer_has_javas_fields_in_javas_order(reply: Reply, header: bytes) -> None:
    """B005, B006, B007, B008."""
    frame = encode_reply(reply, 106, JSON)
    assert json_header(frame) == header
    assert len(frame) == int.from_bytes(frame[:4], "big") + 4 == 8 + len(header)


def test_a_binary_answer_has_javas_layout() -> None:
    """B033: GET_KV_CONFIG, opaque 108, value 1."""
    frame = encode_reply(Reply(ext_fields={"value": "1", "none": None}), 108, ROCKETMQ)
    expected = "0000 00 0201 0000006c 00000001 00000000 0000000c 0005 76616c7565 00000001 31"
    assert frame[8:].hex() == expected.replace(" ", "")
    assert encode_reply(Reply(remark="\ud800é"), 1, ROCKETMQ)[25:28] == "?é".encode()


def test_a_request_of_the_servers_own() -> None:
    """B192: 905 is sent oneway."""
    opaque, frame = encode_request(905, {"minBrokerId": "0", "haBrokerAddr": None}, JSON, oneway=True)
    sent = command.decode(frame)
    assert (sent.code, sent.flag, sent.opaque, sent.version) == (905, 2, opaque, 513)
    assert (sent.ext_fields, sent.body) == ({"minBrokerId": "0"}, None)
    assert encode_request(905, {}, JSON)[0] == opaque + 1


def test_a_binary_request_of_its_own() -> None:
    """B033, B192: fields keep their order."""
    opaque, sent = encode_request(905, {"b": "2", "a": None, "c": "3"}, ROCKETMQ, oneway=True)
    header = decode_binary_header(sent[8:])
    assert header == {
        "code": 905, "flag": 2, "language": 0, "opaque": opaque, "version": 513, "extFields": {"b": "2", "c": "3"},
    }  # fmt: skip
    assert list(header["extFields"]) == ["b", "c"]
    assert sent[4] == ROCKETMQ


@pytest.mark.parametrize("ext", [{"k" * 40_000: "v"}, {"k": "v" * (1 << 24)}], ids=["key", "value"])
def test_a_header_that_has_no_binary_form(ext: dict[str, str | None]) -> None:
    """B033: it is refused, and the caller answers with an error instead."""
    with pytest.raises(Exception, match=r"format|at most"):
        encode_reply(Reply(0, None, ext), 1, ROCKETMQ)


@given(
    st.integers(0, 2**15 - 1),
    st.none() | texts,
    st.none() | st.dictionaries(texts.filter(bool), st.none() | texts, max_size=4),
    st.none() | st.binary(max_size=30),
    ints,
    st.sampled_from(SerializeType),
)
def test_an_answer_survives_the_way(
    code: int,
    remark: str | None,
    ext: dict[str, str | None] | None,
    body: bytes | None,
    opaque: int,
    kind: SerializeType,
) -> None:
    frame = encode_reply(Reply(code, remark, ext, body), opaque, kind)
    assert next_frame(frame, 0, FRAME_SIZE_MAX_BYTES) == len(frame)
    read = command.decode(frame)
    assert (read.code, read.opaque, read.flag, read.version, read.body) == (code, opaque, 1, 513, body or None)
    present = None if ext is None else {key: value for key, value in ext.items() if value is not None}
    if kind is ROCKETMQ and present is not None:
        present = {key: value or None for key, value in present.items()} or None
    assert read.ext_fields == present
