"""Request bodies: a registration plain, compressed and bare, DataVersion, and the queue data of one topic."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config, wrapper
from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.data_version import decode_data_version
from rocketns.protocol.body.queue_data import decode_queue_datas
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper, decode_topic_config_wrapper
from rocketns.protocol.body.route import DataVersion, TopicQueueMappingInfo
from rocketns.protocol.bounds import BLOCKS_MAX, FILTER_SERVERS_MAX, LENIENT_BYTES_MAX, ODD_VALUES_MAX, QUEUE_DATAS_MAX
from rocketns.protocol.codes import V3_0_11, V5_0_0, V5_5_0
from tests.protocol.java_registrations import (
    BODIES,
    FORGIVEN_TOPICS,
    MAPPING_MAPS,
    MAPPINGS,
    NOW,
    QUEUE_DATAS,
    REFUSED,
    TABLES,
    TOPICS,
    VERSIONS,
)
from tests.protocol.strategies import (
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


@pytest.mark.parametrize(("text", "expected"), BODIES, ids=ids)
def test_a_body_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B132, B133, B134, B161: the filter servers, and whether there is a wrapper."""
    body = outcome(decode, text)
    got = body if body is REFUSED else (body.filter_server_list, body.topic_config_wrapper is not None)
    assert got == expected


@pytest.mark.parametrize(("text", "expected"), VERSIONS, ids=ids)
def test_a_version_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B140: in the wrapper and alone."""
    read = outcome(decoded_wrapper, '{"dataVersion":' + text + "}")
    assert (read if read is REFUSED else read.data_version) == expected
    assert outcome(decode_data_version, text.encode(), NOW) == expected


@pytest.mark.parametrize(("text", "expected"), TABLES, ids=ids)
def test_a_topic_table_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B135, B137: a null topic spoils the body; the key is not the name."""
    read = outcome(decoded_wrapper, '{"topicConfigTable":' + text + "}")
    table = None if read is REFUSED else read.topic_config_table
    shown = table if table is None else {key: (topic.topic_name, *topic.queues) for key, topic in table.items()}
    assert (REFUSED if read is REFUSED else shown) == expected


@pytest.mark.parametrize(("text", "expected"), TOPICS, ids=ids)
def test_a_topic_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    """B136."""
    read = outcome(decoded_wrapper, '{"topicConfigTable":{"a":' + text + "}}")
    topic = None if read is REFUSED else read.topic_config_table["a"]
    assert (REFUSED if topic is None else (topic.topic_name, *topic.queues)) == expected


@pytest.mark.parametrize("text", FORGIVEN_TOPICS)
def test_fields_of_a_topic_that_nobody_reads_may_be_anything(text: str) -> None:
    table = decoded_wrapper('{"topicConfigTable":{"a":' + text + "}}").topic_config_table
    assert table is not None
    assert (table["a"].topic_name, table["a"].queues) == ("a", (16, 16, 6, 0))


@pytest.mark.parametrize(("text", "expected"), MAPPING_MAPS, ids=ids)
def test_a_map_of_mappings_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    read = outcome(decoded_wrapper, '{"topicQueueMappingInfoMap":' + text + "}")
    mappings = None if read is REFUSED else read.topic_queue_mapping_info_map
    assert (REFUSED if read is REFUSED else mappings if mappings is None else len(mappings)) == expected


@pytest.mark.parametrize(("text", "expected"), MAPPINGS, ids=ids)
def test_a_mapping_is_taken_as_java_takes_it(text: str, expected: Any) -> None:
    read = outcome(decoded_wrapper, '{"topicQueueMappingInfoMap":{"M":' + text + "}}")
    if expected is REFUSED:
        assert read is REFUSED
    else:
        assert read.topic_queue_mapping_info_map == {"M": TopicQueueMappingInfo(*expected)}


def test_a_null_mapping_is_left_out() -> None:
    """Java stores it, and fails at the next step of the registration."""
    read = decoded_wrapper('{"topicQueueMappingInfoMap":{"M":null,"N":"","O":{}}}')
    assert list(read.topic_queue_mapping_info_map or ()) == ["O"]


@pytest.mark.parametrize(("text", "expected"), QUEUE_DATAS, ids=ids)
def test_queue_datas_are_taken_as_java_takes_them(text: str, expected: Any) -> None:
    """B228, B229."""
    read = outcome(decode_queue_datas, text.encode())
    assert (read if read is REFUSED else [(name, *queues) for name, queues in read]) == expected


def test_no_body_is_an_empty_registration() -> None:
    """B131."""
    body = decode(None)
    assert body.topic_config_wrapper == TopicConfigWrapper(DataVersion(0, 0, 0), {}, {})
    assert body.filter_server_list == []
    assert decode_topic_config_wrapper(None, NOW) == body.topic_config_wrapper
    assert decode_data_version(None, NOW) is decode_data_version(b"", NOW) is None
    assert decode_queue_datas(None) == []


def test_the_remark_names_what_java_throws() -> None:
    """B130, B134."""
    with pytest.raises(BodyDecodeError) as raised:
        decode("{")
    assert str(raised.value.remark).startswith(
        "org.apache.rocketmq.remoting.exception.RemotingCommandException: Failed to decode RegisterBrokerBody, "
    )


@pytest.mark.parametrize(("version", "taken"), [(413, True), (513, True), (412, False), (37, False)])
def test_a_deflated_body_marked_plain_is_inflated_for_peers_that_cannot_mark_it(version: int, taken: bool) -> None:
    """B130: rocketns alone; Java refuses it from any peer."""
    body = compressed_body([topic_config("a"), topic_config("b")])
    read = outcome(lambda: decode(body, version=version))
    assert read == (decode(body, version=version, compressed=True) if taken else REFUSED)


@pytest.mark.parametrize("body", [b"x", b"x\x9c", b"x{}", zlib.compress(b"{}"), zlib.compress(b"null"), b"xx" * 99])
def test_a_broken_zlib_stream_is_refused_like_bad_json(body: bytes) -> None:
    """B130."""
    with pytest.raises(BodyDecodeError) as raised:
        decode(body)
    assert "Failed to decode RegisterBrokerBody, " in str(raised.value.remark)


def test_a_bare_wrapper_knows_no_mappings() -> None:
    """B122."""
    fields = wrapper([topic_config("a")], data_version(3), mapping={"a": {"topic": "a", "bname": "b"}})
    bare = decode_topic_config_wrapper(dumps(fields), NOW)
    assert bare is not None
    assert (bare.data_version, list(bare.topic_config_table or ())) == (DataVersion(0, 1_700_000_000_000, 3), ["a"])
    assert bare.topic_queue_mapping_info_map == {}
    assert decode_topic_config_wrapper(b"null", NOW) is None


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
    ("most", "fields"), [(BLOCKS_MAX, "{}"), (BLOCKS_MAX, '{"topicName":"a"}'), (ODD_VALUES_MAX, '{"perm":"6"}')]
)
def test_a_registration_has_a_limit_of_topics(most: int, fields: str) -> None:
    """Whichever parser reads it; and a lower one of topics whose numbers are not written as numbers."""
    read = decode(table_of(most, fields)).topic_config_wrapper
    assert read is not None
    assert len(read.topic_config_table or ()) == most
    with pytest.raises(BodyDecodeError, match=f"more than {most}"):
        decode(table_of(most + 1, fields))


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
