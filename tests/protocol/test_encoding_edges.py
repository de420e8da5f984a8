"""Edge cases of encoding: extreme numbers, empty values, and values without a binary form."""

from __future__ import annotations

import struct

import pytest

from interop.harness.wire import binary_header, decode_binary_header, frame
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply, encode_request
from tests.protocol.strategies import INT_MAX, INT_MIN

JSON, ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ


@pytest.mark.parametrize("opaque", [0, 7, INT_MAX, INT_MIN])
def test_extreme_numbers(opaque: int) -> None:
    """B033: the serialize type stands in the frame's word."""
    reply = Reply(22, "нет", {"value": "", "x": None, "name": "ü"}, b"body")
    expected = binary_header(22, {"value": "", "name": "ü"}, opaque=opaque, version=513, flag=1, remark="нет".encode())
    assert encode_reply(reply, opaque, ROCKETMQ) == frame(expected, b"body", serialize_type=1)


def test_no_remark_and_no_fields_in_binary() -> None:
    """B033: are lengths of zero, whether there is an empty map or none."""
    expected = struct.pack(">hBhiiii", 0, 0, 513, 7, 1, 0, 0)
    assert (
        encode_reply(Reply(), 7, ROCKETMQ) == encode_reply(Reply(ext_fields={}), 7, ROCKETMQ) == frame(expected, b"", 1)
    )


@pytest.mark.parametrize("serialize_type", [JSON, ROCKETMQ])
def test_a_lone_surrogate(serialize_type: SerializeType) -> None:
    """B033, B088: is a question mark, as of Java's encoder."""
    found = command.decode(encode_reply(Reply(0, "\ud800", {"k": "\udfff"}), 1, serialize_type))
    assert found.ext("k") == "?"


def test_a_binary_request_of_its_own() -> None:
    """B033, B192: fields keep their order."""
    opaque, sent = encode_request(905, {"b": "2", "a": None, "c": "3"}, ROCKETMQ, oneway=True)
    header = decode_binary_header(sent[8:])
    assert header == {
        "code": 905, "flag": 2, "language": 0, "opaque": opaque, "version": 513, "extFields": {"b": "2", "c": "3"},
    }  # fmt: skip
    assert list(header["extFields"]) == ["b", "c"]
    assert sent[4] == ROCKETMQ


def test_numbers_wrap_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: after Java's largest int."""
    monkeypatch.setattr(command, "_request_ids", iter([INT_MAX, INT_MAX + 1]))
    assert [encode_request(905, {}, JSON)[0] for _ in range(2)] == [INT_MAX, 0]


@pytest.mark.parametrize("ext", [{"k" * 40_000: "v"}, {"k": "v" * (1 << 24)}], ids=["key", "value"])
def test_a_header_that_has_no_binary_form(ext: dict[str, str | None]) -> None:
    """B033: is refused, and the caller answers with an error instead."""
    with pytest.raises(Exception, match=r"format|at most"):
        encode_reply(Reply(0, None, ext), 1, ROCKETMQ)
