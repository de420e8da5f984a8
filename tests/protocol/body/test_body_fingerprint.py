"""A body's CRC is derived from that of an earlier body with another stamp, and is the one that Java computes."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.protocol.body.registration.body_fingerprint import BodyFingerprint

stamps = st.integers(10**12, 10**13 - 1)


def body(stamp: int, after: bytes = b"") -> bytes:
    return b'{"topicConfigSerializeWrapper":{"mappingDataVersion":{"timestamp":%d},%s}}' % (stamp, after)


def fingerprint(data: bytes) -> BodyFingerprint:
    return BodyFingerprint.of(data, compressed=False, version=513)


def crc32_of_java(data: bytes) -> int:
    return zlib.crc32(data) & 0x7FFFFFFF


@given(stamps, stamps, st.binary(max_size=5000))
def test_a_derived_crc_is_that_of_the_body(before: int, now: int, after: bytes) -> None:
    """B121."""
    first, second = body(before, after), body(now, after)
    known = fingerprint(first).with_crc32(first, None)
    assert known.crc32 == crc32_of_java(first)
    assert fingerprint(second).with_crc32(second, known).crc32 == crc32_of_java(second)


@pytest.mark.parametrize("data", [b"", b"{}", b"x" * 100])
def test_a_body_without_a_stamp_has_the_crc_of_an_equal_one(data: bytes) -> None:
    known = fingerprint(data).with_crc32(data, None)
    assert fingerprint(data).with_crc32(data, known) == known
    assert known.crc32 == crc32_of_java(data)


def test_a_repeated_body_is_not_read_for_its_crc() -> None:
    """An earlier CRC with a changed bit comes back with that bit changed."""
    first, second = body(10**12), body(10**12 + 1)
    known = replace(fingerprint(first), crc32=crc32_of_java(first) ^ 1)
    assert fingerprint(second).with_crc32(second, known).crc32 == crc32_of_java(second) ^ 1


@pytest.mark.parametrize("other", [body(10**12, b'"a":1'), body(10**12, b'"b":1') + b" "])
def test_the_crc_of_another_body_is_not_used(other: bytes) -> None:
    known = fingerprint(other).with_crc32(other, None)
    data = body(10**12 + 1, b'"b":1')
    assert fingerprint(data).with_crc32(data, known).crc32 == crc32_of_java(data)


def test_the_crc_of_an_earlier_body_that_nobody_asked_for_is_not_used() -> None:
    data = body(10**12)
    assert fingerprint(data).with_crc32(data, fingerprint(data)).crc32 == crc32_of_java(data)
