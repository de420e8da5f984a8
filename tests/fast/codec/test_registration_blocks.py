"""The blocks of a compressed registration: the compiled reader agrees with the Construct declaration and Python."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest
from construct import ConstructError, StreamError
from hypothesis import given, settings
from hypothesis import strategies as st

from interop.harness.payloads import block, compressed_body, data_version, topic_config
from rocketns._fast.codec import registration_blocks as compiled
from rocketns.javatext import parse_int
from rocketns.protocol import spec
from rocketns.protocol.body.route import queue_data
from rocketns.protocol.bounds import BlockLimits
from tests.protocol.strategies import ints, mutated

REFUSED = "refused"
LIMITS = BlockLimits()
FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")


def topic_line(data: bytes) -> tuple[str, Any]:
    """TopicConfig.decode: name, read and write queues, permission, filter type; attributes are not needed here."""
    parts = data.decode("utf-8", "replace").rstrip(" ").split(" ")
    numbers = [parse_int(part) for part in parts[1:4]]
    if len(parts) < 5 or None in numbers or parts[4] not in FILTER_TYPES:
        raise ValueError("no topic line")
    return parts[0], queue_data(*numbers, 0)  # type: ignore[arg-type]


def reference(data: bytes, mappings: bool) -> Any:
    try:
        body = spec.COMPRESSED_REGISTRATION.parse(data, mappings=mappings)
        queues = dict(map(topic_line, body.topics.blocks))
    except (ConstructError, ValueError):
        return REFUSED
    return body.data_version.data, queues, body.filter_servers.data, body.mappings.blocks if mappings else []


def fast(data: bytes, mappings: bool) -> Any:
    try:
        return compiled.read(data, mappings, LIMITS, queue_data)
    except ValueError:
        return REFUSED


def check(data: bytes) -> None:
    for mappings in (False, True):
        assert fast(data, mappings) == reference(data, mappings)


def with_line(line: bytes) -> bytes:
    return block(b"{}") + struct.pack(">i", 1) + block(line) + block(b"[]") + struct.pack(">i", 0)


names = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), max_size=8)
topics = st.lists(st.builds(topic_config, names, ints, ints, ints), max_size=3)
mappings = st.lists(st.builds(lambda name: {"topic": name, "bname": "b"}, names), max_size=2)
bodies = st.builds(
    lambda topics, mapping: zlib.decompress(compressed_body(topics, data_version(), mapping=mapping)), topics, mappings
)
WHOLE = zlib.decompress(compressed_body([topic_config("a"), topic_config("b")], mapping=[{"topic": "M"}]))


@given(bodies)
def test_valid_blocks(data: bytes) -> None:
    assert fast(data, True) != REFUSED
    check(data)


@given(mutated(st.one_of(st.just(WHOLE), bodies)))
@settings(max_examples=500)
def test_mutated_blocks(data: bytes) -> None:
    check(data)


def test_every_byte_replaced() -> None:
    for at in range(len(WHOLE)):
        for byte in b" +-09a\x00\x01\x7f\x80\xff":
            check(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    check(data)


numbers = st.one_of(
    ints.map(str),
    st.sampled_from(["+1", "-0", "007", "", "+", "-", "--1", "2147483648", "-2147483648", "-2147483649", "+2147483647",
                     "1.0", "x", "\u0663", "-\u0663\u0664", "\U0001d7ce", "\uff11", "0" * 70 + "5", "9" * 40, "1\t"]),
)  # fmt: skip
lines = st.builds(
    lambda parts, blanks: (" ".join(parts) + " " * blanks).encode(),
    st.tuples(names, numbers, numbers, numbers, st.sampled_from([*FILTER_TYPES, "SINGLE_TAGS", "", "MULTI_TAG {}"])),
    st.integers(0, 20),
)


@given(st.one_of(lines, mutated(lines)))
@settings(max_examples=800)
def test_topic_lines(line: bytes) -> None:
    """Names and numbers of any script, text that is not UTF-8, and parts too many or too few."""
    check(with_line(line))


@pytest.mark.parametrize("mappings", [False, True])
def test_a_cut_body_needs_more_until_it_is_whole(mappings: bool) -> None:
    end = len(WHOLE) if mappings else len(WHOLE) - len(block(b'{"topic":"M"}')) - 4
    needs = [compiled.needs_more(WHOLE[:cut], mappings, LIMITS) for cut in range(len(WHOLE) + 1)]
    assert needs == [cut < end for cut in range(len(WHOLE) + 1)]


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", LIMITS.block_bytes + 1),
        block(b"") + struct.pack(">i", LIMITS.topics + 1),
        block(b"") + struct.pack(">ii", 1, LIMITS.topic_bytes_min - 1),
        block(b"") + struct.pack(">i", 0) + block(b"") + struct.pack(">i", LIMITS.mappings + 1),
    ],
)
def test_a_body_that_must_be_refused_needs_no_more_bytes(data: bytes) -> None:
    assert not compiled.needs_more(data, True, LIMITS)
    with pytest.raises((ConstructError, StreamError)):
        spec.COMPRESSED_REGISTRATION.parse(data, mappings=True)


def test_blocks_up_to_the_limits_are_read() -> None:
    """Two topics and one mapping."""
    fits = replace(LIMITS, topics=2, mappings=1)
    assert compiled.read(WHOLE, True, fits, queue_data) == reference(WHOLE, True)
    assert not compiled.needs_more(WHOLE, True, fits)
    for limits in (replace(fits, topics=1), replace(fits, mappings=0)):
        with pytest.raises(ValueError):
            compiled.read(WHOLE, True, limits, queue_data)


@pytest.mark.parametrize("number", ["2147483647", "2147483648", "-2147483648", "-2147483649", "+2147483647"])
def test_the_ends_of_an_int_in_digits_of_another_script(number: str) -> None:
    """Integer.parseInt takes them."""
    arabic = number.translate({ord(str(digit)): 0x660 + digit for digit in range(10)})
    check(with_line(f"T {arabic} 8 6 SINGLE_TAG".encode()))
