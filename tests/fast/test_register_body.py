"""Registration bodies: the compiled parser gives its Python twin's result, or declines."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from construct import ConstructError, StreamError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.payloads import block, compressed_body, data_version, dumps, register_body, topic_config, wrapper
from rocketns._fast.codec import json_passes, registration
from rocketns._fast.codec.registration import RegisteredTopics
from rocketns.errors import BodyDecodeError
from rocketns.javatext import INT_MAX, INT_MIN
from rocketns.protocol import spec
from rocketns.protocol.body import register_broker_body
from rocketns.protocol.body.register_broker_body import RegisterBrokerBody, decode_register_broker_body, read_compact
from rocketns.protocol.body.route import queue_data
from rocketns.protocol.bounds import BLOCK_BYTES_MAX, BLOCKS_MAX, MAPPINGS_MAX, TOPIC_LINE_BYTES_MIN
from rocketns.protocol.codes import V5_0_0
from tests.protocol.strategies import (
    JAVA,
    JSON_BITS,
    NOW,
    decode_by_definition,
    ints,
    json_values,
    longs,
    mutated,
    texts,
)

DECLINED, REFUSED = "declined", "refused"

# Both as fastjson2 writes them: RegisterBrokerBody of a 5.5.0 broker, and of a 4.9 broker.
BROKER_5_5_0 = (
    '{"filterServerList":[],"topicConfigSerializeWrapper":{'
    '"dataVersion":{"counter":3,"stateVersion":2,"timestamp":1795254389059},'
    '"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1795254380051},'
    '"topicConfigTable":{'
    '"TBW102":{"attributes":{},"order":false,"perm":7,"readQueueNums":8,"topicFilterType":"SINGLE_TAG",'
    '"topicName":"TBW102","topicSysFlag":0,"writeQueueNums":8},'
    '"%RETRY%group":{"attributes":{"message.type":"DELAY","+cleanup.policy":"DELETE"},"order":true,"perm":6,'
    '"readQueueNums":1,"topicFilterType":"MULTI_TAG","topicName":"%RETRY%group","topicSysFlag":-3,"writeQueueNums":1},'
    '"b|Überweisung":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG",'
    '"topicName":"b|Überweisung","topicSysFlag":0,"writeQueueNums":8}},'
    '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}'
).encode()
BROKER_4_9 = (
    b'{"filterServerList":["10.0.0.1:8080"],"topicConfigSerializeWrapper":{'
    b'"dataVersion":{"counter":3,"timestamp":1795254389059},"topicConfigTable":{'
    b'"T1":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T1",'
    b'"topicSysFlag":0,"writeQueueNums":2}}}}'
)
# A 5.x broker with a static topic: fastjson2 writes the queue ids without quotes.
STATIC = BROKER_5_5_0.replace(
    b'"topicQueueMappingInfoMap":{}',
    '"topicQueueMappingInfoMap":{"Ü":{"bname":"b","currIdMap":{0:0,1:-1},"dirty":false,"epoch":7,"scope":"__global__",'
    '"topic":"Ü","totalQueues":8},"b|Ü":{"bname":"b","currIdMap":{},"topic":"b|Ü"}}'.encode(),
)


def reference(body: bytes) -> RegisterBrokerBody | str:
    try:
        return decode_by_definition(body, compressed=False, version=V5_0_0, now_ms=NOW)
    except BodyDecodeError:
        return REFUSED


def fast(body: bytes) -> RegisterBrokerBody | str:
    """What the compiled parser makes of it, in which blanks may stand between tokens."""
    compact = json_passes.compact(body)
    assert compact is None or json_passes.compact(compact) is None
    body = body if compact is None else compact
    return read_compact(body) or DECLINED


def order(read: RegisterBrokerBody | str) -> list[str]:
    """The keys of the topics, whose order shows in events."""
    return list(read.topic_config_wrapper.topic_config_table or ()) if isinstance(read, RegisterBrokerBody) else []


def agree(taken: RegisterBrokerBody | str, read: Callable[[], RegisterBrokerBody | str]) -> bool:
    """Whether the compiled parser accepted the body. Its result is then compared with the twin's."""
    if taken == DECLINED:
        return False
    expected = read()
    assert taken == expected
    assert order(taken) == order(expected)
    return True


FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")
NUMBER = re.compile("0|-?[1-9][0-9]{0,18}")  # as String.valueOf writes an int


def topic_line(data: bytes) -> tuple[str, Any]:
    """TopicConfig.decode: name, read and write queues, permission, filter type; attributes are not needed here."""
    parts = data.decode("utf-8", "replace").rstrip(" ").split(" ")
    numbers = [int(part) for part in parts[1:4] if NUMBER.fullmatch(part)]
    if len(parts) < 5 or len(numbers) < 3 or parts[4] not in FILTER_TYPES:
        raise ValueError("no topic line")
    if not INT_MIN <= min(numbers) <= max(numbers) <= INT_MAX:
        raise ValueError("no int")
    return parts[0], queue_data(*numbers, 0)


def declared_blocks(data: bytes, mappings: bool) -> Any:
    try:
        body = spec.COMPRESSED_REGISTRATION.parse(data, mappings=mappings)
        queues = dict(map(topic_line, body.topics.blocks))
    except (ConstructError, ValueError):
        return REFUSED
    return body.data_version.data, queues, 0, body.filter_servers.data, body.mappings.blocks if mappings else []


def compiled_blocks(data: bytes, mappings: bool, known: RegisteredTopics | None = None) -> Any:
    try:
        return registration.read_blocks(data, mappings, queue_data, known)
    except ValueError:
        return REFUSED


def check(body: bytes) -> bool:
    return agree(fast(body), lambda: reference(body))


def check_blocks(inflated: bytes) -> bool:
    """The reader of blocks agrees with their Construct declaration; also where somebody is asked about each topic."""
    taken = False
    for mappings in (False, True):
        declared = declared_blocks(inflated, mappings)
        assert compiled_blocks(inflated, mappings) == declared
        assert compiled_blocks(inflated, mappings, RegisteredTopics()) in (None, declared)
        taken = taken or declared != REFUSED
    return taken


attributes = st.dictionaries(st.sampled_from(["+message.type", "a"]), st.one_of(texts, json_values), max_size=2)
topics = st.builds(
    lambda config, extra, leave: {k: v for k, v in (config | extra).items() if k not in leave},
    st.builds(topic_config, st.one_of(st.sampled_from("abc"), texts), ints, ints, ints, ints),
    st.fixed_dictionaries({}, optional={
        "attributes": attributes, "topicFilterType": st.just("MULTI_TAG"), "order": json_values, "unknown": json_values,
    }),
    st.sets(st.sampled_from(["attributes", "order", "topicSysFlag", "perm", "writeQueueNums", "readQueueNums"])),
)  # fmt: skip
versions = st.builds(
    lambda whole, leave: {k: v for k, v in whole.items() if k not in leave},
    st.builds(data_version, longs, longs, longs),
    st.sets(st.sampled_from(["stateVersion", "counter"])),
)
wrappers = st.builds(
    lambda listed, keyed, version, more: wrapper(listed, version) | more | keyed,
    st.lists(topics, max_size=4),
    st.fixed_dictionaries({}, optional={
        "topicConfigTable": st.dictionaries(st.sampled_from("abc"), topics, max_size=3),
        "unknown": json_values,
    }),
    versions,
    st.fixed_dictionaries({}, optional={
        "mappingDataVersion": versions,
        "topicQueueMappingDetailMap": st.just({}),
        "topicQueueMappingInfoMap": st.sampled_from([{}, {}, {"M": {"topic": "M"}}]),
    }),
)  # fmt: skip
bodies = st.builds(
    lambda filters, wrapped, more: dumps({"filterServerList": filters, "topicConfigSerializeWrapper": wrapped} | more),
    st.lists(texts, max_size=2),
    wrappers,
    st.dictionaries(texts, json_values, max_size=1),
)
FORMS = [BROKER_5_5_0, STATIC, BROKER_4_9, register_body([topic_config("a"), topic_config("b")])]


def inflated_body(topics: list[Any], version: Any, filters: list[str], old: bool) -> bytes:
    mapping: Any = None if old else []
    return zlib.decompress(compressed_body(topics, version, filters=tuple(filters), mapping=mapping))


complete_topics = st.builds(topic_config, st.one_of(st.sampled_from("abc"), texts), ints, ints, ints)
blocks = st.builds(
    inflated_body, st.lists(complete_topics, max_size=3), versions, st.lists(texts, max_size=2), st.booleans()
)
BLOCKS = [inflated_body([topic_config("a"), topic_config("b")], data_version(), ["f:1"], old) for old in (False, True)]


def test_bodies_of_real_brokers_are_not_declined() -> None:
    assert all(map(check, FORMS))
    assert all(map(check_blocks, BLOCKS))


def test_a_body_is_read_by_the_compiled_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declined body is decoded by the reference; the caller sees no difference."""
    escaped = BROKER_5_5_0.replace(b"order", b"\\u006frder")
    expected = reference(BROKER_5_5_0)
    assert fast(escaped) == DECLINED
    assert decode_register_broker_body(escaped, compressed=False, version=V5_0_0, now_ms=1) == expected
    monkeypatch.setattr(register_broker_body, "decode_plain", None)
    assert decode_register_broker_body(BROKER_5_5_0, compressed=False, version=V5_0_0, now_ms=1) == expected


TOKENS = re.compile(rb'"[^"]*"|[][{}:,]|[^][{}:,"]+')


def test_blanks_between_tokens_are_no_other_form() -> None:
    """Each of JSON's blanks at every place, and all of them around every token; no other character is one."""
    for whole in (BROKER_5_5_0, BROKER_4_9):
        tokens = TOKENS.findall(whole)
        assert b"".join(tokens) == whole
        for at in range(len(tokens) + 1):
            for blank in (b" ", b"\t", b"\n", b"\r", b"\r\n\t  "):
                assert check(b"".join((*tokens[:at], blank, *tokens[at:])))
            for other in (b"\x00", b"\x0b", b"\x0c", b"\xc2\xa0", b"\x1f"):
                assert not check(b"".join((*tokens[:at], other, *tokens[at:])))
        assert check(b" \n".join((b"", *tokens, b"")))
        assert check(json.dumps(json.loads(whole), indent=2, ensure_ascii=False).encode())


def test_the_largest_broker_may_write_blanks() -> None:
    """Its values are more than the slow form may have."""
    text = json.dumps(json.loads(register_body([topic_config(f"T{n}") for n in range(30_000)])), indent=1).encode()
    read = decode_register_broker_body(text, compressed=False, version=V5_0_0, now_ms=1)
    assert read.topic_config_wrapper.topic_config_table.topics == 30_000
    with pytest.raises(BodyDecodeError, match=r"more than 500000 JSON values.*splitRegistrationSize"):
        decode_register_broker_body(text.replace(b"T29999", b"\\u0054"), compressed=False, version=V5_0_0, now_ms=1)


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ('"Ü":{"bname"', '"Ü":{"topic":1.50,"bname"'),  # shows as 1.50 only when the whole body is read leniently
        ('"Ü":{"bname"', "/**/\"Ü\":{\"bname\""),
        ('{0:0,1:-1}', '{"0":0,"1":"-1"}'),
        ('{0:0,1:-1}', '{0:0,1:null}'),
        ('{0:0,1:-1}', '{"a":[[[[[[[[[[1]]]]]]]]]]}'),
        ('"scope":"__global__"', '"scope":"\\u0061"'),
        ('"epoch":7', '"epoch":"}"'),
        ('"epoch":7', '"epoch":7]'),
    ],
)  # fmt: skip
def test_static_topics_are_what_they_are_in_the_whole_body(written: str, other: str) -> None:
    assert written.encode() in STATIC
    body = STATIC.replace(written.encode(), other.encode(), 1)
    check(body)
    with suppress(BodyDecodeError):
        assert decode_register_broker_body(body, compressed=False, version=V5_0_0, now_ms=1) == reference(body)


def test_static_topics_that_only_the_lenient_parser_takes_are_declined() -> None:
    """The lenient parser reads whole bodies of up to 16 KiB; here it would see only a part of one."""
    assert fast(STATIC.replace('"Ü":{"bname"'.encode(), '/**/"Ü":{"bname"'.encode())) == DECLINED


def test_a_body_cut_at_any_byte() -> None:
    assert not any(check(body[:end]) for body in FORMS for end in range(len(body)))
    for inflated in BLOCKS:
        for end in range(len(inflated)):
            check_blocks(inflated[:end])


@pytest.mark.parametrize(
    ("judge", "whole", "replacements"),
    [*((check, body, b'"\\{}[]:,-0n \x00\x1f\x80\xff') for body in FORMS),
     *((check_blocks, inflated, b'" -+09a\x00\x01\x7f\x80\xff') for inflated in BLOCKS)],
)  # fmt: skip
def test_every_byte_replaced_by_what_means_something(
    judge: Callable[[bytes], bool], whole: bytes, replacements: bytes
) -> None:
    for at in range(len(whole)):
        for byte in replacements:
            judge(whole[:at] + bytes([byte]) + whole[at + 1 :])


@given(bodies, mutated(st.sampled_from(FORMS) | bodies), blocks, mutated(st.sampled_from(BLOCKS) | blocks))
@settings(deadline=None)
def test_any_bodies(body: bytes, mutated_body: bytes, inflated: bytes, mutated_blocks: bytes) -> None:
    check(body)
    check(mutated_body)
    check_blocks(inflated)
    check_blocks(mutated_blocks)


HOLES = ["{}", "[]", "null", '""', "5", "true", '{"T":1}', "[[1]]", '{"a":{"b":[{}]}}', "1.5", "1e3", "-0", "01", "-"]
NUMBERS = [*map(str, (2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 0)), "9" * 19, "9" * 20, "00", "+1"]
TEMPLATES = [
    "%s",
    '{"filterServerList":%s,"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1}}}',
    '{"filterServerList":["a"],"filterServerList":%s,"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1}}}',
    '{"topicConfigSerializeWrapper":%s}',
    '{"topicConfigSerializeWrapper":{"dataVersion":%s}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":%s}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicQueueMappingInfoMap":%s}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"unknown":%s}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":%s,"counter":1}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1,"counter":%s}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{"a":%s}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{"a":{"topicName":%s}}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{"a":{"topicName":"a","perm":%s}}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":'
    '{"a":{"topicName":"a","attributes":%s}}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{"a":{"topicName":"a","order":%s}}}}',
    '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":'
    '{"a":{"topicName":"b"},"a":{"topicName":"a","perm":%s}}}}',
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_hostile_values_at_every_place(template: str) -> None:
    listed = [text for name in ("bodies", "versions", "tables", "topics", "mapping maps") for text, _ in JAVA[name]]
    for text in (*HOLES, *NUMBERS, *listed, *JAVA["forgiven topics"], *(bit.decode("latin-1") for bit in JSON_BITS)):
        check((template % text).encode())
    check((template % ("[" * 100_000)).encode())
    check((template % ("[" * 500 + "]" * 500)).encode())
    check((template % ('{"a":' * 100_000)).encode())


@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(JSON_BITS), max_size=8).map(b"".join)))
@example(b"")
@example(b"\x00\x00\x00\x02{}\x7f\xff\xff\xff")
@example(b'\x00\x00\x00\x0f{"timestamp":1}\xff\xff\xff\xff\x00\x00\x00\x02[]\x00\x00\x00\x00')
@settings(deadline=None)
def test_any_bytes(data: bytes) -> None:
    check(data)
    check_blocks(data)


@pytest.mark.parametrize(
    "member",
    ['"perm":01', '"perm":-0', '"perm":1.0', '"perm":1e0', '"perm":+1', '"perm":1,"perm":1', '"perm":"1"',
     '"perm":null', '"order":01', '"order":1.5', '"order":"\x1f"', '"o\x1f":1', '"a\\u0062":1',
     '"order":' + "[" * 10 + "]" * 10, '"topicName":"a"', '"attributes":null'],
)  # fmt: skip
def test_the_fast_parser_declines_text_that_brokers_never_write(member: str) -> None:
    """Above some size the reference refuses text that it reads leniently, so large bodies are compared as well."""
    text = (
        '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{"a":{"topicName":"a"%s}}}}'
    )
    assert fast((text % "").encode()) != DECLINED
    assert fast((text % f",{member}").encode()) == DECLINED


def test_equal_queues_are_one_object() -> None:
    """More different values than the parser caches, and a second body: equal values are still one object."""
    many = [topic_config(f"T{n}", n % 50, n % 7, n % 8, n % 2) for n in range(1000)]
    one, other = fast(register_body(many)), fast(register_body(many[::-1]))
    assert isinstance(one, RegisterBrokerBody)
    assert isinstance(other, RegisterBrokerBody)
    tables = [read.topic_config_wrapper.topic_config_table.queues for read in (one, other)]
    assert all(tables[0][key] is queues is queue_data(*queues) for key, queues in tables[1].items())


@pytest.mark.parametrize("number", ["read", "write", "perm", "flag"])
def test_queues_that_differ_in_one_number_are_not_one_object(number: str) -> None:
    """For every kind of difference. The parser's cache has few places, so some values share one."""
    for difference in range(1, 65):
        check(register_body([topic_config("T", **{number: 1}), topic_config("U", **{number: 1 + difference})]))


# The blocks of a compressed registration: topic lines, and how many bytes their reader needs.


def with_line(line: bytes) -> bytes:
    return block(b"{}") + struct.pack(">i", 1) + block(line) + block(b"[]") + struct.pack(">i", 0)


names = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), max_size=8)
numbers = st.one_of(
    ints.map(str),
    st.sampled_from(["+1", "-0", "007", "", "+", "-", "--1", "-+1", "2147483648", "-2147483648", "-2147483649",
                     "+2147483647", "1.0", "x", "\u0663", "0" * 70 + "5", "9" * 40, "1\t"]),
)  # fmt: skip
lines = st.builds(
    lambda parts, blanks: (" ".join(parts) + " " * blanks).encode(),
    st.tuples(names, numbers, numbers, numbers, st.sampled_from([*FILTER_TYPES, "SINGLE_TAGS", "", "MULTI_TAG {}"])),
    st.integers(0, 20),
)


@given(st.one_of(lines, mutated(lines)))
def test_topic_lines(line: bytes) -> None:
    """Names of any script, text that is not UTF-8, and parts too many or too few."""
    check_blocks(with_line(line))


@pytest.mark.parametrize("mappings", [False, True])
def test_a_cut_body_needs_more_until_it_is_whole(mappings: bool) -> None:
    """B127, B129."""
    whole = zlib.decompress(compressed_body([topic_config("a")], mapping=[{"topic": "M"}]))
    end = len(whole) if mappings else len(whole) - len(block(b'{"topic":"M"}')) - 4
    needs = [registration.needs_more(whole[:cut], mappings) for cut in range(len(whole) + 1)]
    assert needs == [cut < end for cut in range(len(whole) + 1)]
    assert {declared_blocks(whole[:cut], mappings) for cut in range(end)} == {REFUSED}


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", BLOCK_BYTES_MAX + 1),
        block(b"") + struct.pack(">i", BLOCKS_MAX + 1),
        block(b"") + struct.pack(">ii", 1, TOPIC_LINE_BYTES_MIN - 1),
        block(b"") + struct.pack(">ii", 1, 2**31 - 1),
        block(b"") + struct.pack(">i", 0) + block(b"") + struct.pack(">i", MAPPINGS_MAX + 1),
    ],
)
def test_a_body_that_must_be_refused_needs_no_more_bytes(data: bytes) -> None:
    assert not registration.needs_more(data, True)
    with pytest.raises((ConstructError, StreamError)):
        spec.COMPRESSED_REGISTRATION.parse(data, mappings=True)


def test_blocks_up_to_the_limits_are_read() -> None:
    """As many as may be, with the longest version, the shortest topic line and the shortest mappings."""
    version, lines = b"1" * BLOCK_BYTES_MAX, [b"T%d 1 1 6 SINGLE_TAG" % number for number in range(1, BLOCKS_MAX)]
    topics = [block(line) for line in (b" 1 1 6 MULTI_TAG", *lines)]
    mappings = [block(b'{"topic":0}')] * MAPPINGS_MAX
    whole = b"".join((
        block(version), struct.pack(">i", BLOCKS_MAX), *topics, block(b""), struct.pack(">i", MAPPINGS_MAX), *mappings
    ))  # fmt: skip
    assert not registration.needs_more(whole, True)
    read, queues, _, _, infos = registration.read_blocks(whole, True, queue_data)
    assert (read, len(queues), len(infos)) == (version, BLOCKS_MAX, MAPPINGS_MAX)


@pytest.mark.parametrize("number", ["2147483647", "2147483648", "-2147483648", "-2147483649", "+2147483647"])
def test_the_ends_of_an_int(number: str) -> None:
    """Not in digits of another script, nor with a plus, which Integer.parseInt takes: no broker writes them."""
    arabic = number.translate({ord(str(digit)): 0x660 + digit for digit in range(10)})
    for text in (number, arabic):
        check_blocks(with_line(f"T {text} 8 6 SINGLE_TAG".encode()))
