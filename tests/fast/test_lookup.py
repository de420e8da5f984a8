"""The fast lane reads any lookup like the reference and gives exactly its answer, or leaves the lookup to control."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import wire
from rocketns.processor import requests
from rocketns.protocol.codes import V4_9_4, V5_5_0, SerializeType
from rocketns.protocol.command import decode
from rocketns.protocol.encoding import encode_reply
from rocketns.protocol.headers import GetRouteInfoRequestHeader, decode_header, requested_zone
from rocketns.server.control.answering import BEYOND_RATE
from tests.compiled.parts import answer, busy, head, recognise, recognise_like
from tests.fast.lookups import (
    CLIENTS,
    CLOSES,
    FRAME_BYTES_MAX,
    GET_ROUTE,
    TOPICS,
    PublishedWorld,
    any_frames,
    look_up,
    opaques,
    populated,
)
from tests.protocol.strategies import mutated


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> PublishedWorld:
    return populated(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("serialize_type", SerializeType)
def test_an_answer_is_the_references(world: PublishedWorld, serialize_type: SerializeType) -> None:
    @given(any_frames)
    def holds(frame: bytes) -> None:
        expected = world.reference(frame, serialize_type)
        if expected != CLOSES:
            assert answer(world.slots, frame, serialize_type) in (None, expected)

    holds()


@pytest.mark.parametrize("serialize_type", SerializeType)
@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_are_answered(world: PublishedWorld, client: str, serialize_type: SerializeType) -> None:
    for topic in ("T1", "T2", "%RETRY%g", "rmq_sys_SYNC_BROKER_MEMBER_ba", "nobody's", "T" * 1000):
        frame = look_up(client, topic, -17)
        taken = answer(world.slots, frame, serialize_type)
        assert taken is not None
        assert taken == world.reference(frame, serialize_type)


@pytest.mark.parametrize("topic", ["static", "filtered"])
def test_control_gets_lookups_that_cannot_be_composed(world: PublishedWorld, topic: str) -> None:
    frame = look_up(CLIENTS[0], topic)
    assert recognise(frame) is not None
    assert answer(world.slots, frame, 0) is None


# What the compiled recogniser reads of a frame.

Read = tuple[bytes, int, int, bool]


def read_by_reference(whole: bytes) -> Read:
    """A lookup as the reference reads it; MalformedFrame if it is not a frame."""
    request = decode(whole)
    header = decode_header(request, GetRouteInfoRequestHeader)
    assert (request.code, request.flag, requested_zone(request)) == (GET_ROUTE, 0, None)
    assert header.topic
    standard = request.version >= V4_9_4 or header.accept_standard_json_only
    return header.topic.encode(), request.opaque, request.version, standard


def is_frame(whole: bytes) -> bool:
    return wire.next_frame(whole, 0, FRAME_BYTES_MAX) == len(whole)


@pytest.mark.parametrize("client", [client for client in CLIENTS if client.endswith("JSON")])
def test_the_next_look_up_of_a_client_is_recognised_by_its_likeness(client: str) -> None:
    """If the opaque is before the topic, the frame is not compared with the previous frame."""
    learnt = look_up(client, "T", 1)
    is_learnt = learnt.index(b'"opaque"') > learnt.index(b'"topic"')
    for topic in TOPICS:
        whole = look_up(client, topic, -12345)
        assert recognise_like(learnt, whole) == (read_by_reference(whole) if is_learnt else None)


@given(any_frames)
@example(frame(json_header(105, {"topic": "T"}) + b"\n"))
@example(frame(binary_header(105, {"topic": "T"}), b"", ROCKETMQ))
@example(frame(binary_header(105, {"topic": "T"}, language=255), b"body", ROCKETMQ))
def test_a_recognised_lookup_equals_the_reference(whole: bytes) -> None:
    if is_frame(whole):
        recognised = recognise(whole)
        assert recognised is None or recognised == read_by_reference(whole)


@st.composite
def likes(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two frames; the second resembles the first."""
    first = draw(st.one_of(any_frames, st.builds(look_up, st.sampled_from(CLIENTS), st.sampled_from(TOPICS), opaques)))
    changed = draw(mutated(st.just(first[8:])))
    return first, frame(changed, b"", JSON)


@given(likes())
def test_a_lookup_recognised_by_likeness_equals_the_reference(pair: tuple[bytes, bytes]) -> None:
    learnt, whole = pair
    if is_frame(learnt) and is_frame(whole):
        recognised = recognise_like(learnt, whole)
        assert recognised is None or recognised == read_by_reference(whole)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_byte_of_a_lookup_replaced_or_cut(client: str) -> None:
    whole = look_up(client)
    for at in range(4, len(whole)):
        changed = [whole[:at] + bytes([byte]) + whole[at + 1 :] for byte in b'"\\{}[]:,-0n \x00\x01\x7f\x80\xff']
        for candidate in [*changed, frame(whole[8:at], b"", whole[4])]:
            if is_frame(candidate):
                recognised = recognise(candidate)
                assert recognised is None or recognised == read_by_reference(candidate)
                assert recognise_like(whole, candidate) in (None, recognised)


@pytest.mark.parametrize(
    "header",
    [
        json_header(105, {"topic": "T", "__ZONE_MODE": "true", "__ZONE_NAME": "z"}),
        json_header(105, {"topic": "Ü"}),
        json_header(105, {"topic": ""}),
        json_header(105, {"topic": "T" * 1025}),
        json_header(105, {"topic": "T", "acceptStandardJsonOnly": "TRUE"}),
        json_header(105),
        json_header(105, {"topic": "T"}, flag=1),
        json_header(105, {"topic": "T"}) + b" ",
        b'{"code":105,"extFields":{"topic":"T","topic":"U"},"opaque":1,"version":1}',
        b'{"code":105,"code":105,"extFields":{"topic":"T"},"opaque":1,"version":1}',
        b'{"code":105,"extFields":{"topic":"T"},"opaque":1}',
        b'{"code":105,"extFields":{"topic":"T"},"opaque":1,"version":1,"other":1}',
    ],
)
def test_a_lookup_that_needs_the_reference_is_not_recognised(header: bytes) -> None:
    assert recognise(frame(header)) is None
    assert recognise(frame(binary_header(105, {"topic": "T", "__ZONE_NAME": "z"}), b"", ROCKETMQ)) is None


# What a reactor reads of a request that it refuses, and its answer, are those of the reference.

BODY = register_body([topic_config("T")])


@pytest.mark.parametrize("flag", [0, 1, 2, 3])
def test_a_registration_is_read_in_both_forms(flag: int) -> None:
    fields = register_ext(body=BODY)
    assert head(frame(json_header(103, fields, opaque=9, flag=flag), BODY)) == (9, flag)
    assert head(frame(binary_header(103, fields, opaque=9, flag=flag), BODY, ROCKETMQ)) == (9, flag)


@given(any_frames)
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
    expected = encode_reply(requests.reply_of(BEYOND_RATE), opaque, serialize_type, version)
    assert busy(opaque, serialize_type, version) == expected
