"""Request bodies are read as Java reads them: registrations plain, compressed and bare, versions, and queue data."""

from __future__ import annotations

import random
import struct
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.payloads import block, compressed_body, data_version, dumps, register_body, topic_config
from rocketns.errors import BodyDecodeError
from rocketns.protocol.body import register_broker_body
from rocketns.protocol.body.decoding import decode_data_version, decode_queue_datas
from rocketns.protocol.body.register_broker_body import (
    RegisterBrokerBody,
    TopicConfigWrapper,
    decode_register_broker_body,
    decode_topic_config_wrapper,
)
from rocketns.protocol.body.route import DataVersion, TopicQueueMappingInfo
from rocketns.protocol.bounds import (
    BLOCK_BYTES_MAX,
    BLOCKS_MAX,
    CONVERTED_VALUES_MAX,
    FILTER_SERVERS_MAX,
    INFLATED_BYTES_MAX,
    INFLATED_RATIO_MAX,
    LENIENT_BYTES_MAX,
    QUEUE_DATAS_MAX,
)
from rocketns.protocol.codes import V3_0_11, V5_0_0, V5_5_0
from tests.protocol.strategies import (
    JAVA,
    NOW,
    REFUSED,
    any_bytes,
    decode_by_definition,
    ints,
    json_texts,
    json_values,
    longs,
    mutated,
    texts,
)


def decode(body: str | bytes | None, **more: Any) -> RegisterBrokerBody:
    """Decode by the definition. The compiled parser, which reads the usual form, must return the same."""
    data = body.encode() if isinstance(body, str) else body
    how = {"compressed": False, "version": V5_5_0, "now_ms": NOW} | more
    read = decode_by_definition(data, **how)
    assert decode_register_broker_body(data, **how) == read
    return read


def decoded_wrapper(fields: str) -> TopicConfigWrapper:
    read = decode('{"topicConfigSerializeWrapper":' + fields + "}").topic_config_wrapper
    assert read is not None
    return read


def outcome(read: Any, *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except BodyDecodeError:
        return REFUSED


def ids(value: Any) -> str:
    return str(value)[:50]


@pytest.mark.parametrize(("text", "expected"), JAVA["bodies"], ids=ids)
def test_a_body_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B132, B133, B134, B161: the filter servers, and whether there is a wrapper."""
    body = outcome(decode, text)
    got = body if body == REFUSED else (body.filter_server_list, body.topic_config_wrapper is not None)
    assert got == expected


@pytest.mark.parametrize(("text", "expected"), JAVA["versions"], ids=ids)
def test_a_version_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B140: in the wrapper and alone."""
    read = outcome(decoded_wrapper, '{"dataVersion":' + text + "}")
    assert (read if read == REFUSED else read.data_version) == expected
    assert outcome(decode_data_version, text.encode(), NOW) == expected


@pytest.mark.parametrize(("text", "expected"), JAVA["tables"], ids=ids)
def test_a_topic_table_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B135, B137: a null topic spoils the body; the key is not the name."""
    read = outcome(decoded_wrapper, '{"topicConfigTable":' + text + "}")
    table = None if read == REFUSED else read.topic_config_table
    shown = table if table is None else {key: (topic.topic_name, *topic.queues) for key, topic in table.items()}
    assert (REFUSED if read == REFUSED else shown) == expected


@pytest.mark.parametrize(("text", "expected"), JAVA["topics"], ids=ids)
def test_a_topic_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B136."""
    read = outcome(decoded_wrapper, '{"topicConfigTable":{"a":' + text + "}}")
    topic = None if read == REFUSED else read.topic_config_table["a"]
    assert (REFUSED if topic is None else (topic.topic_name, *topic.queues)) == expected


@pytest.mark.parametrize("text", JAVA["forgiven topics"])
def test_fields_of_a_topic_that_nobody_reads_may_be_anything(text: str) -> None:
    table = decoded_wrapper('{"topicConfigTable":{"a":' + text + "}}").topic_config_table
    assert table is not None
    assert (table["a"].topic_name, table["a"].queues) == ("a", (16, 16, 6, 0))


@pytest.mark.parametrize(("text", "expected"), JAVA["mapping maps"], ids=ids)
def test_a_map_of_mappings_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    read = outcome(decoded_wrapper, '{"topicQueueMappingInfoMap":' + text + "}")
    mappings = None if read == REFUSED else read.topic_queue_mapping_info_map
    assert (REFUSED if read == REFUSED else mappings if mappings is None else len(mappings)) == expected


@pytest.mark.parametrize(("text", "expected"), JAVA["mappings"], ids=ids)
def test_a_mapping_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    read = outcome(decoded_wrapper, '{"topicQueueMappingInfoMap":{"M":' + text + "}}")
    if expected == REFUSED:
        assert read == REFUSED
    else:
        assert read.topic_queue_mapping_info_map == {"M": TopicQueueMappingInfo(*expected)}


def test_a_null_mapping_is_left_out() -> None:
    """Java stores it, and fails at the next step of the registration."""
    read = decoded_wrapper('{"topicQueueMappingInfoMap":{"M":null,"N":"","O":{}}}')
    assert list(read.topic_queue_mapping_info_map or ()) == ["O"]


@pytest.mark.parametrize(("text", "expected"), JAVA["queue datas"], ids=ids)
def test_queue_datas_are_taken_as_java_takes_them(text: str, expected: Any) -> None:
    """B228, B229."""
    read = outcome(decode_queue_datas, text.encode())
    assert (read if read == REFUSED else [(name, *queues) for name, queues in read]) == expected


def test_no_body_is_an_empty_registration() -> None:
    """B131."""
    body = decode(None)
    assert body.topic_config_wrapper == TopicConfigWrapper(DataVersion(0, 0, 0), {}, {})
    assert body.filter_server_list == []
    assert decode_topic_config_wrapper(None, NOW) == body.topic_config_wrapper
    assert decode_data_version(None, NOW) is decode_data_version(b"", NOW) is None
    assert decode_queue_datas(None) == []


@pytest.mark.parametrize(("version", "taken"), [(413, True), (513, True), (412, False), (37, False)])
def test_a_deflated_body_marked_plain_is_inflated_for_peers_that_cannot_mark_it(version: int, taken: bool) -> None:
    """B130: rocketns alone; Java refuses it from any peer."""
    body = compressed_body([topic_config("a"), topic_config("b")])
    read = outcome(lambda: decode(body, version=version))
    assert read == (decode(body, version=version, compressed=True) if taken else REFUSED)


def test_a_large_body_that_only_the_lenient_parser_could_read_is_refused() -> None:
    topics = [topic_config("a" * LENIENT_BYTES_MAX)]
    assert decode(register_body(topics)).topic_config_wrapper is not None
    with pytest.raises(BodyDecodeError, match="bytes read leniently"):
        decode(register_body(topics) + b"/**/")


def table_of(count: int, fields: str) -> bytes:
    table = ",".join(f'"{number}":{fields}' for number in range(count))
    return (
        f'{{"topicConfigSerializeWrapper":{{"dataVersion":{{"timestamp":1}},"topicConfigTable":{{{table}}}}}}}'.encode()
    )


@pytest.mark.parametrize(
    ("most", "fields"),
    [
        (BLOCKS_MAX, '{"topicName":"a"}'),
        (CONVERTED_VALUES_MAX, '{"topicName":null}'),
        (CONVERTED_VALUES_MAX, '{"perm":"6"}'),
    ],
)
def test_a_registration_has_a_limit_of_topics(most: int, fields: str) -> None:
    """A lower one where the body is not written as brokers write it."""
    how: Any = {"compressed": False, "version": V5_5_0, "now_ms": NOW}
    read = decode_register_broker_body(table_of(most, fields), **how).topic_config_wrapper
    assert read is not None
    assert len(read.topic_config_table or ()) == most
    with pytest.raises(BodyDecodeError, match=f"more than {most}.*splitRegistrationSize"):
        decode_register_broker_body(table_of(most + 1, fields), **how)


@pytest.mark.parametrize("item", ['"a"', "5"])
def test_a_registration_has_a_limit_of_filter_servers(item: str) -> None:
    body = '{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1}},"filterServerList":[%s]}'
    assert (
        len(decode((body % ",".join([item] * FILTER_SERVERS_MAX)).encode()).filter_server_list or ())
        == FILTER_SERVERS_MAX
    )
    with pytest.raises(BodyDecodeError, match="filter servers"):
        decode((body % ",".join([item] * (FILTER_SERVERS_MAX + 1))).encode())


def test_a_topic_has_a_limit_of_brokers() -> None:
    body = b'{"queueDatas":[' + b"{}," * (QUEUE_DATAS_MAX - 1) + b"{}%b]}"
    assert len(decode_queue_datas(body % b"")) == QUEUE_DATAS_MAX
    with pytest.raises(BodyDecodeError, match="brokers of a topic"):
        decode_queue_datas(body % b",{}")


@given(st.lists(st.tuples(texts, ints, ints, ints, ints), max_size=4), longs, longs, longs, st.lists(texts, max_size=2))
def test_a_registration_is_read(topics: list[Any], state: int, stamp: int, counter: int, filters: Any) -> None:
    configs = {name: topic_config(name, *numbers) for name, *numbers in topics}
    body = decode(register_body(list(configs.values()), data_version(counter, stamp, state), filters=filters))
    read = body.topic_config_wrapper
    assert read is not None
    assert read.data_version == DataVersion(state, stamp, counter)
    expected = {name: (name, *numbers) for name, *numbers in topics}
    assert {key: (t.topic_name, *t.queues) for key, t in (read.topic_config_table or {}).items()} == expected
    assert body.filter_server_list == filters


any_wrapper = st.dictionaries(
    st.sampled_from(
        ["dataVersion", "topicConfigTable", "topicQueueMappingInfoMap", "queueDatas", "counter", "topicName"]
    ),
    json_values,
)
any_body = st.one_of(
    mutated(st.just(register_body([topic_config("a")], mapping={"M": {"topic": "M", "currIdMap": {"0": 0}}}))),
    st.builds(lambda fields: dumps({"topicConfigSerializeWrapper": fields}), any_wrapper),
    json_texts(any_wrapper),
    any_bytes,
)


@given(any_body, st.booleans(), st.sampled_from([0, V3_0_11, V5_0_0 - 1, V5_5_0]))
@example(b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":' + b"9" * 5000 + b"}}}", False, V5_5_0)
@example(b'{"filterServerList":[' + b"[" * 500 + b"]" * 500 + b"]}", False, V5_5_0)
@example(b'{"queueDatas":[{"brokerName":[1e400]}]}', False, V5_5_0)
def test_any_body_is_read_or_refused(body: bytes, compressed: bool, version: int) -> None:
    for read in (
        lambda: decode(body, compressed=compressed, version=version),
        lambda: decode_topic_config_wrapper(body, NOW),
        lambda: decode_data_version(body, NOW),
        lambda: decode_queue_datas(body),
    ):
        with suppress(BodyDecodeError):
            read()


# The compressed form: one zlib stream of blocks.

names = st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), max_size=8)


def decode_compressed(body: bytes, version: int = V5_0_0) -> RegisterBrokerBody:
    return decode(body, compressed=True, version=version)


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


@given(st.lists(st.tuples(names, ints, ints, ints), max_size=4))
def test_any_numbers_survive_the_way(topics: list[Any]) -> None:
    body = decode_compressed(compressed_body([topic_config(*topic) for topic in topics]))
    assert topics_of(body) == list({name: (name, *numbers, 0) for name, *numbers in topics}.values())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"T 1 2 3 SINGLE_TAG", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 MULTI_TAG {}", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 SINGLE_TAG not JSON", ("T", 1, 2, 3, 0)),
        (b"T 1 2 3 SINGLE_TAG   ", ("T", 1, 2, 3, 0)),
        (b"T 1 -2 0 SINGLE_TAG", ("T", 1, -2, 0, 0)),
        (b"T +1 -2 007 SINGLE_TAG", None),
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
            decode_compressed(stream(line))
    else:
        assert topics_of(decode_compressed(stream(line))) == [expected]


@pytest.mark.parametrize(("data", "expected"), JAVA["filter arrays"], ids=repr)
def test_an_unreadable_list_of_filter_servers_is_empty(data: bytes, expected: Any) -> None:
    assert decode_compressed(stream(filters=data)).filter_server_list == expected


def test_no_version_is_null() -> None:
    """A version block without bytes."""
    read = decode_compressed(stream(version=b"")).topic_config_wrapper
    assert read is not None
    assert read.data_version is None


def test_a_body_with_an_impossible_ratio_is_refused() -> None:
    """At the bound, and a byte beyond it. zlib packs blanks to a thousandth."""
    version = b"{}".ljust(100_000)
    rest = struct.pack(">i", 0) + block(b"[]") + bytes(4)
    size = len(zlib.compress(block(version) + rest, 9))
    noise = random.Random(1).randbytes((len(version) // INFLATED_RATIO_MAX - size) * 2)
    for cut in range(len(noise)):
        blocks = block(b'{"x":"' + noise[cut:].hex().encode() + b'"}' + version[2:]) + rest
        body = zlib.compress(blocks, 9)
        if len(body) * INFLATED_RATIO_MAX < len(blocks):
            break
        decode_compressed(body)
    with pytest.raises(BodyDecodeError, match=f"inflates to more than {INFLATED_RATIO_MAX * len(body)} bytes"):
        decode_compressed(body)


def test_a_body_that_inflates_beyond_the_limit_is_refused() -> None:
    """A request of 140 KB that would take more memory than all the routes."""
    line = b"T 1 1 1 MULTI_TAG ".ljust(1 << 20)
    body = stream(*[line] * (INFLATED_BYTES_MAX // len(line) + 1))
    with pytest.raises(BodyDecodeError, match=f"inflates to more than {INFLATED_BYTES_MAX} bytes"):
        decode_compressed(body)


def test_bytes_after_the_last_section_are_not_decode_compressed() -> None:
    """As in Java. Of a request of 32 KB that inflates to 31 MB of zeros, only the beginning is inflated."""
    beginning = register_broker_body.inflate(zlib.compress(b"\0" * (31 << 20)), True)
    assert len(beginning) <= register_broker_body.INFLATED_AT_FIRST_BYTES


def test_a_block_has_a_limit_of_bytes() -> None:
    most = BLOCK_BYTES_MAX
    assert topics_of(decode_compressed(stream(b"T 1 1 1 MULTI_TAG ".ljust(most)))) == [("T", 1, 1, 1, 0)]
    with pytest.raises(BodyDecodeError):
        decode_compressed(stream(b"T 1 1 1 MULTI_TAG ".ljust(most + 1)))


def test_lenient_mappings_share_one_allowance() -> None:
    """Small blocks that only the lenient parser reads may together not exceed the allowance of one frame."""
    one = block(b"{'topic':'M'}".ljust(2000))
    fits = LENIENT_BYTES_MAX // 2000
    decode_compressed(stream(mappings=struct.pack(">i", fits) + one * fits))
    with pytest.raises(BodyDecodeError, match="leniently"):
        decode_compressed(stream(mappings=struct.pack(">i", fits + 1) + one * (fits + 1)))


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
        decode_compressed(body, version)
