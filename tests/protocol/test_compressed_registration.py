"""RegisterBrokerBody in its compressed form: one zlib stream of blocks."""

from __future__ import annotations

import random
import struct
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.payloads import block, compressed_body, data_version, topic_config
from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.registration import inflating
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import DataVersion, TopicQueueMappingInfo
from rocketns.protocol.bounds import (
    BLOCK_BYTES_MAX,
    BLOCKS_MAX,
    INFLATED_BYTES_MAX,
    INFLATED_RATIO_MAX,
    LENIENT_BYTES_MAX,
)
from rocketns.protocol.codes import V5_0_0
from tests.protocol.java_registrations import FILTER_ARRAYS, NOW
from tests.protocol.strategies import any_bytes, decode_by_definition, ints, mutated

names = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), max_size=8)


def decode(body: bytes, version: int = V5_0_0) -> RegisterBrokerBody:
    """Decode by the definition. The compiled parser, which reads the usual form, must return the same."""
    read = decode_by_definition(body, compressed=True, version=version, now_ms=NOW)
    assert decode_register_broker_body(body, compressed=True, version=version, now_ms=NOW) == read
    return read


def topics_of(body: RegisterBrokerBody) -> list[Any]:
    assert body.topic_config_wrapper is not None
    table = body.topic_config_wrapper.topic_config_table or {}
    assert all(key == topic.topic_name for key, topic in table.items())
    return [(topic.topic_name, *topic.queues) for topic in table.values()]


def stream(
    *lines: bytes, version: bytes = b"{}", count: int | None = None, filters: bytes = b"[]", mappings: bytes = b"\0" * 4
) -> bytes:
    """Level 1 packs blanks less than the bound of the ratio allows."""
    topics = struct.pack(">i", len(lines) if count is None else count) + b"".join(map(block, lines))
    return zlib.compress(block(version) + topics + block(filters) + mappings, 1)


def test_a_compressed_registration_is_read() -> None:
    """B126: the sys flag is not carried."""
    mapping = {"topic": "M", "bname": "b", "currIdMap": {"0": 1}, "epoch": 7, "totalQueues": 8}
    topics = [topic_config("a", 1, 2, 3, flag=9), topic_config("b")]
    body = decode(compressed_body(topics, data_version(5, 6, 7), filters=("f:1",), mapping=[mapping]))
    read = body.topic_config_wrapper
    assert read is not None
    assert (read.data_version, body.filter_server_list) == (DataVersion(7, 6, 5), ["f:1"])
    assert topics_of(body) == [("a", 1, 2, 3, 0), ("b", 8, 8, 6, 0)]
    assert read.topic_queue_mapping_info_map == {
        "M": TopicQueueMappingInfo(topic="M", bname="b", curr_id_map={0: 1}, epoch=7, total_queues=8)
    }


def test_mappings_are_there_from_version_5() -> None:
    """B127, B128."""
    old = compressed_body([topic_config("a"), topic_config("b")], mapping=None)
    assert len(topics_of(decode(old, V5_0_0 - 1))) == 2
    with pytest.raises(BodyDecodeError, match="Failed to decode RegisterBrokerBody"):
        decode(old, V5_0_0)
    new = compressed_body([], mapping=[{"topic": "M"}])
    assert decode(new, V5_0_0 - 1).topic_config_wrapper == TopicConfigWrapper(
        DataVersion(0, 1_700_000_000_000, 1), {}, {}
    )


@given(st.lists(st.tuples(names, ints, ints, ints), max_size=4))
def test_any_numbers_survive_the_way(topics: list[Any]) -> None:
    body = decode(compressed_body([topic_config(*topic) for topic in topics]))
    assert topics_of(body) == list({name: (name, *numbers, 0) for name, *numbers in topics}.values())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"T 1 2 3 SINGLE_TAG", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 MULTI_TAG {}", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 SINGLE_TAG not JSON", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 SINGLE_TAG   ", ("T", 1, 2, 3, 0)),
        (b"T +1 -2 007 SINGLE_TAG", ("T", 1, -2, 7, 0)),
        (b" 1 2 3 SINGLE_TAG", ("", 1, 2, 3, 0)),
        (b"T\xff 1 2 3 SINGLE_TAG", ("T\ufffd", 1, 2, 3, 0)),
        (b"\xe4\xb8\xbb\xe9\xa2\x98 1 2 3 SINGLE_TAG", ("主题", 1, 2, 3, 0)),
        (b"T 1 2 3", None),
        (b"", None),
        (b"T 1 2 3 SINGLE_TAGS", None),
        (b"T 1 2 3 single_tag", None),
        (b"T  1 2 3 SINGLE_TAG", None),
        (b"T x 2 3 SINGLE_TAG", None),
        (b"T 1 2 3.0 SINGLE_TAG", None),
        (b"T 1 2 2147483648 SINGLE_TAG", None),
        (b"T 1 2 " + b"9" * 5000 + b" SINGLE_TAG", None),
        (b"T\t1 2 3 SINGLE_TAG 5", None),
    ],
)
def test_a_topic_line_is_split_at_blanks(line: bytes, expected: Any) -> None:
    """B129: TopicConfig.decode; None where it is a decode failure."""
    if expected is None:
        with pytest.raises(BodyDecodeError):
            decode(stream(line))
    else:
        assert topics_of(decode(stream(line))) == [expected]


def test_the_last_of_two_lines_with_one_name_wins() -> None:
    assert topics_of(decode(stream(b"T 1 1 1 MULTI_TAG", b"T 2 2 2 MULTI_TAG"))) == [("T", 2, 2, 2, 0)]


@pytest.mark.parametrize(("data", "expected"), FILTER_ARRAYS, ids=repr)
def test_an_unreadable_list_of_filter_servers_is_empty(data: bytes, expected: Any) -> None:
    assert decode(stream(filters=data)).filter_server_list == expected


@pytest.mark.parametrize(
    "body",
    [
        stream(version=b"x"),
        stream(version=b"[]"),
        stream(count=1),
        stream(count=2**31 - 1),
        stream(mappings=b""),
        stream(mappings=struct.pack(">i", 1)),
        stream(mappings=struct.pack(">i", 1) + block(b"null        ")),
        stream(mappings=struct.pack(">i", 1) + block(b'{"bname":"b"}')),
        stream(mappings=struct.pack(">i", 1) + block(b'{"topic":"M","epoch":{}}')),
        zlib.compress(b""),
        zlib.compress(struct.pack(">i", -1)),
        b'{"filterServerList":[]}',
        stream()[:-8],
        stream()[3:],
        b"x",
    ],
    ids=lambda body: body.hex()[:40],
)
def test_a_bad_stream_is_refused(body: bytes) -> None:
    """B129."""
    with pytest.raises(BodyDecodeError, match="Failed to decode RegisterBrokerBody"):
        decode(body)


def test_no_version_is_null() -> None:
    """A version block without bytes."""
    read = decode(stream(version=b"")).topic_config_wrapper
    assert read is not None
    assert read.data_version is None


def test_bytes_after_the_last_section_are_ignored() -> None:
    assert topics_of(decode(stream(mappings=b"\0" * 4 + b"rest"))) == []


def test_a_body_with_an_impossible_ratio_is_refused() -> None:
    """At the bound, and a byte beyond it. zlib packs blanks to a thousandth."""
    version = b"{}".ljust(100_000)
    rest = struct.pack(">i", 0) + block(b"[]") + bytes(4)
    size = len(zlib.compress(block(version) + rest, 9))
    noise = random.Random(1).randbytes((len(version) // INFLATED_RATIO_MAX - size) * 2)
    for cut in range(len(noise)):
        inflated = block(b'{"x":"' + noise[cut:].hex().encode() + b'"}' + version[2:]) + rest
        body = zlib.compress(inflated, 9)
        if len(body) * INFLATED_RATIO_MAX < len(inflated):
            break
        decode(body)
    with pytest.raises(BodyDecodeError, match=f"inflates to more than {INFLATED_RATIO_MAX * len(body)} bytes"):
        decode(body)


def test_a_body_that_inflates_beyond_the_limit_is_refused() -> None:
    """A request of 140 KB that would take more memory than all the routes."""
    line = b"T 1 1 1 MULTI_TAG ".ljust(1 << 20)
    body = stream(*[line] * (INFLATED_BYTES_MAX // len(line) + 1))
    with pytest.raises(BodyDecodeError, match=f"inflates to more than {INFLATED_BYTES_MAX} bytes"):
        decode(body)


def test_bytes_after_the_last_section_are_not_inflated() -> None:
    """As in Java. Of a request of 32 KB that inflates to 31 MB of zeros, only the beginning is inflated."""
    inflated = inflating.inflate(zlib.compress(b"\0" * (31 << 20)), True)
    assert len(inflated) <= inflating.INFLATED_AT_FIRST_BYTES


def test_a_block_has_a_limit_of_bytes() -> None:
    most = BLOCK_BYTES_MAX
    assert topics_of(decode(stream(b"T 1 1 1 MULTI_TAG ".ljust(most)))) == [("T", 1, 1, 1, 0)]
    with pytest.raises(BodyDecodeError):
        decode(stream(b"T 1 1 1 MULTI_TAG ".ljust(most + 1)))


def test_lenient_mappings_share_one_allowance() -> None:
    """Small blocks that only the lenient parser reads may together not exceed the allowance of one frame."""
    one = block(b"{'topic':'M'}".ljust(2000))
    fits = LENIENT_BYTES_MAX // 2000
    decode(stream(mappings=struct.pack(">i", fits) + one * fits))
    with pytest.raises(BodyDecodeError, match="leniently"):
        decode(stream(mappings=struct.pack(">i", fits + 1) + one * (fits + 1)))


def test_more_topics_than_any_broker_has_are_refused() -> None:
    with pytest.raises(BodyDecodeError):
        decode(stream(b"T 1 1 1 MULTI_TAG", count=BLOCKS_MAX + 1))


WHOLE = compressed_body([topic_config("a"), topic_config("b")], mapping=[{"topic": "M"}])


@given(
    st.one_of(
        mutated(st.just(WHOLE)),
        mutated(st.just(zlib.decompress(WHOLE))).map(zlib.compress),
        st.builds(lambda *parts: stream(parts[0], version=parts[1], filters=parts[2]), any_bytes, any_bytes, any_bytes),
    ),
    st.sampled_from([V5_0_0 - 1, V5_0_0]),
)
def test_any_stream_is_read_or_refused(body: bytes, version: int) -> None:
    with suppress(BodyDecodeError):
        decode(body, version)
