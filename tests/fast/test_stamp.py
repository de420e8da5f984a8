"""The fingerprint and CRC of a registration leave out the time at which a 5.x broker wrote it, and nothing else."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.register_broker_body import (
    HEAD_BYTES_MAX,
    BodyFingerprint,
    RegisterBrokerBody,
    decode_register_broker_body,
    decode_topic_config_wrapper,
)
from rocketns.protocol.codes import V3_0_11, V5_0_0
from tests.fast.test_register_body import BROKER_4_9, BROKER_5_5_0
from tests.protocol.strategies import decode_by_definition, mutated

# Two times in milliseconds, and 5.5.0's body with a place for one.
NOW, LATER = b"1795254380051", b"1795254410051"
STAMPED = BROKER_5_5_0.replace(NOW, b"%s")
RUNS_OF_DIGITS = re.compile(rb"(?<!\d)\d{13}(?!\d)")
stamps = st.integers(10**12, 10**13 - 1).map(lambda ms: b"%d" % ms)


def body(wrapper: str, before: str = "", after: str = "") -> bytes:
    """A body with these members in its wrapper, and other members before and after the wrapper."""
    return f'{{{before}"topicConfigSerializeWrapper":{{{wrapper}}}{after}}}'.encode()


STAMP = '"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":%s}'
LEFT_OUT = {
    "5.5.0": STAMPED.decode(),
    "alone": body(STAMP),
    "another order of its members": body('"mappingDataVersion":{"timestamp":%s,"counter":0},"topicConfigTable":{}'),
    "filter servers": body(STAMP, '"filterServerList":["10.0.0.1:30000","10.0.0.2:30000"],'),
    "the first of two": body(STAMP + ',"mappingDataVersion":{"timestamp":1}'),
    "at the end of the head": body(STAMP + " " * 900, '"filterServerList":["' + "x" * 850 + '"],'),
}
COUNTED = {
    "behind the topics": body('"topicConfigTable":{},' + STAMP),
    "members that nobody knows": body('"a":1,' + STAMP),
    "a text in quotes of another kind": body(STAMP, """"filterServerList":['],"topicConfigSerializeWrapper":{'],"""),
    "dataVersion": body('"dataVersion":{"counter":1,"stateVersion":0,"timestamp":%s},"topicConfigTable":{}'),
    "a topic of that name": body('"topicConfigTable":{' + STAMP + "}"),
    "in a string": body(r'"x":"{\"mappingDataVersion\":{\"timestamp\":%s}}"'),
    "one level too low": body('"x":{' + STAMP + "}"),
    "the second timestamp": body('"mappingDataVersion":{"timestamp":1795254380051,"timestamp":%s}'),
    "the second wrapper": body("", after="," + body(STAMP).decode()[1:-1]),
    "an escaped key": body(STAMP.replace("timestamp", r"times\u0074amp")),
    "a key beyond ASCII before it": body(STAMP, '"ü":1,'),
    "a blank before it": body(STAMP.replace(":%s", ": %s")),
    "a comment": body(STAMP, "/**/"),
    "a key that begins like it": body(STAMP.replace('"timestamp"', '"timestamps"')),
    "a text": body(STAMP.replace("%s", '"%s"')),
    "a negative number": body(STAMP.replace("%s", "-%s")),
    "one digit more": body(STAMP.replace("%s", "%s0")),
    "a zero in front": body(STAMP.replace("%s", "0%s")),
    "no end": body(STAMP).partition(b"%s")[0] + b"%s",
    "behind the head": body(STAMP, '"filterServerList":["' + "x" * HEAD_BYTES_MAX + '"],'),
    "compressed": b"\x78\x9c" + body(STAMP),
}


def fingerprint(data: bytes | bytearray | memoryview) -> BodyFingerprint:
    return BodyFingerprint.of(bytes(data) if isinstance(data, bytearray) else data, compressed=False, version=513)


def with_stamp(text: bytes | str, stamp: bytes) -> bytes:
    return (text if isinstance(text, bytes) else text.encode()).replace(b"%s", stamp)


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT)
def test_the_stamp_is_left_out(text: bytes | str) -> None:
    assert fingerprint(with_stamp(text, NOW)) == fingerprint(with_stamp(text, LATER))


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_text_that_only_resembles_a_stamp_counts(text: bytes) -> None:
    assert with_stamp(text, NOW) != with_stamp(text, LATER)
    assert fingerprint(with_stamp(text, NOW)) != fingerprint(with_stamp(text, LATER))


def test_every_other_byte_counts() -> None:
    start = BROKER_5_5_0.index(NOW)
    for place in range(len(BROKER_5_5_0)):
        changed = bytearray(BROKER_5_5_0)
        changed[place] ^= 1
        is_digit_of_it = start < place < start + len(NOW)  # its first digit becomes 0; no time begins with 0
        assert (fingerprint(changed) == fingerprint(BROKER_5_5_0)) is is_digit_of_it, place


def test_the_place_of_the_stamp_counts() -> None:
    """Two bodies that differ only in the position of their time stamps."""
    one = body('"mappingDataVersion":{"timestamp":%s},"topicConfigTable":{}', '"x":1,')
    other = body('"mappingDataVersion":{"timestamp":1},"topicConfigTable":{}', '"x":1,')
    assert fingerprint(with_stamp(one, NOW)) != fingerprint(with_stamp(other, NOW))
    assert fingerprint(with_stamp(one, NOW)) != fingerprint(one.replace(b"%s", b""))


Decoder = Callable[[bytes], object]


def decoded(decode: Decoder, data: bytes) -> object:
    """The decoded body, or the error's text."""
    try:
        return decode(data)
    except BodyDecodeError as error:
        return error.remark


def decoders() -> list[Decoder]:
    """Every reader of a registration's body: compressed and plain, of each generation."""
    whole = (decode_register_broker_body, decode_by_definition)

    def of(read: Callable[..., RegisterBrokerBody], compressed: bool, version: int) -> Decoder:
        return lambda data: read(data, compressed=compressed, version=version, now_ms=5)

    ways = [of(read, flag, version) for read in whole for flag in (False, True) for version in (V3_0_11, V5_0_0)]
    return [*ways, lambda data: decode_topic_config_wrapper(data, 5)]


texts = [with_stamp(text, NOW) for text in (*LEFT_OUT.values(), *COUNTED.values())] + [BROKER_4_9]


@given(mutated(st.sampled_from(texts)), st.data(), stamps)
@example(BROKER_5_5_0, None, LATER)
def test_bodies_with_one_fingerprint_are_decoded_alike(data: bytes, draw: st.DataObject | None, stamp: bytes) -> None:
    """A number with as many digits as a time is replaced, at any position."""
    found = list(RUNS_OF_DIGITS.finditer(data))
    if not found:
        return
    run = found[-1] if draw is None else draw.draw(st.sampled_from(found))
    other = data[: run.start()] + stamp + data[run.end() :]
    if fingerprint(other) == fingerprint(data):
        for decode in decoders():
            assert decoded(decode, other) == decoded(decode, data)


# The fingerprint of a body: equal for equal bytes, and different for others.

bodies = st.binary(min_size=1, max_size=400)


@given(bodies, st.integers(1, 130), st.data())
def test_only_equal_bytes_have_one_fingerprint_wherever_they_lie(body: bytes, count: int, data: st.DataObject) -> None:
    assert fingerprint(memoryview(bytes(count) + body)[count:]) == fingerprint(body)
    other = bytearray(body)
    other[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    for different in (other, body + bytes(count), bytes(count) + body):
        assert fingerprint(different) != fingerprint(body)


# A body's CRC is put together from that of its parts, and is the one that Java computes.


@given(st.one_of(st.binary(max_size=5000), st.builds(with_stamp, st.sampled_from([*LEFT_OUT.values()]), stamps)))
@example(b"")
@example(BROKER_5_5_0)
def test_the_crc_is_that_of_java(data: bytes) -> None:
    """B121."""
    assert fingerprint(data).crc32 == zlib.crc32(data) & 0x7FFFFFFF
