"""What a reactor reads of a request that it refuses, and its answer, are those of the reference."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import wire
from rocketns.processor import dispatch
from rocketns.protocol.codes import V5_5_0, SerializeType
from rocketns.protocol.command import decode
from rocketns.protocol.encoding import encode_reply
from rocketns.server.control.answering import BEYOND_RATE
from tests.compiled.parts import busy, head
from tests.fast.clients import CLIENTS, look_up
from tests.fast.frames import any_frames, opaques
from tests.fast.worlds import FRAME_BYTES_MAX

BODY = register_body([topic_config("T")])


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("opaque", [0, 7, -1, 2**31 - 1, -(2**31)])
def test_lookups_of_real_clients_are_read(client: str, opaque: int) -> None:
    assert head(look_up(client, "T", opaque)) == (opaque, 0)


@pytest.mark.parametrize("flag", [0, 1, 2, 3])
def test_a_registration_is_read_in_both_forms(flag: int) -> None:
    fields = register_ext(body=BODY)
    assert head(frame(json_header(103, fields, opaque=9, flag=flag), BODY)) == (9, flag)
    assert head(frame(binary_header(103, fields, opaque=9, flag=flag), BODY, ROCKETMQ)) == (9, flag)


@given(any_frames)
@settings(max_examples=500)
@example(frame(json_header(105)))
@example(frame(json_header(105, {"topic": "Ü"})))
@example(frame(b'{"code":1,"opaque":2,"extFields":{}}'))
@example(frame(b'{"code":1,"opaque":2,"extFields":{"a":1}}'))
@example(frame(b'{"code":1,"opaque":2,"extFields":null}'))
@example(frame(b'{"code":1}'))
@example(frame(b""))
@example(frame(binary_header(105, {"topic": "T"}, remark=b"r"), b"", ROCKETMQ))
@example(frame(binary_header(105, {"": ""}), b"body", ROCKETMQ))
@example(frame(json_header(105), b"", 2))
def test_what_is_read_is_what_the_reference_reads(whole: bytes) -> None:
    if wire.next_frame(whole, 0, FRAME_BYTES_MAX) != len(whole):
        return
    found = head(whole)
    if found is not None:
        request = decode(whole)
        assert found == (request.opaque, request.flag)


@given(opaques, st.sampled_from(SerializeType), st.sampled_from([0, 453, V5_5_0, 32767]))
def test_the_answer_is_that_of_the_reference(opaque: int, serialize_type: SerializeType, version: int) -> None:
    expected = encode_reply(dispatch.reply_of(BEYOND_RATE), opaque, serialize_type, version)
    assert busy(opaque, serialize_type, version) == expected
