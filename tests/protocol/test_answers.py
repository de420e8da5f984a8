"""Answers and the server's own requests as frames, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.codec.wire import next_frame
from rocketns.errors import BodyDecodeError
from rocketns.protocol import command
from rocketns.protocol.body import bodies
from rocketns.protocol.body.decoding import decode_route_without_brokers, decode_topic_route_data
from rocketns.protocol.body.route import (
    BrokerData,
    QueueData,
    TopicQueueMappingInfo,
    TopicRouteData,
    queue_data,
)
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import SerializeType, version_name
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply, encode_request
from rocketns.protocol.json import fastjson
from tests.protocol.strategies import any_bytes, ints, json_texts, json_values, longs, mutated, texts

JSON, ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ


@pytest.mark.parametrize("form", SerializeType)
def test_a_request_of_the_servers_own(form: SerializeType) -> None:
    """B033, B192: 905 is sent oneway, and fields keep their order."""
    opaque, frame = encode_request(905, {"b": "2", "none": None, "a": "3"}, form, oneway=True)
    sent = command.decode(frame)
    assert (sent.code, sent.flag, sent.opaque, sent.version, sent.body) == (905, 2, opaque, 513, None)
    assert list((sent.ext_fields or {}).items()) == [("b", "2"), ("a", "3")]
    assert encode_request(905, {}, form)[0] == opaque + 1


@pytest.mark.parametrize("ext", [{"k" * 40_000: "v"}, {"k": "v" * (1 << 24)}], ids=["key", "value"])
def test_a_header_that_has_no_binary_form(ext: dict[str, str | None]) -> None:
    """B033: it is refused, and the caller answers with an error instead."""
    with pytest.raises(Exception, match=r"format|at most"):
        encode_reply(Reply(0, None, ext), 1, ROCKETMQ)


@given(
    st.integers(0, 2**15 - 1),
    st.none() | texts,
    st.none() | st.dictionaries(texts.filter(bool), st.none() | texts, max_size=4),
    st.none() | st.binary(max_size=30),
    ints,
    st.sampled_from(SerializeType),
)
def test_an_answer_survives_the_way(
    code: int,
    remark: str | None,
    ext: dict[str, str | None] | None,
    body: bytes | None,
    opaque: int,
    kind: SerializeType,
) -> None:
    frame = encode_reply(Reply(code, remark, ext, body), opaque, kind)
    assert next_frame(frame, 0, FRAME_SIZE_MAX_BYTES) == len(frame)
    read = command.decode(frame)
    assert (read.code, read.opaque, read.flag, read.version, read.body) == (code, opaque, 1, 513, body or None)
    present = None if ext is None else {key: value for key, value in ext.items() if value is not None}
    if kind is ROCKETMQ and present is not None:
        present = {key: value or None for key, value in present.items()} or None
    assert read.ext_fields == present


# The bodies of answers, byte for byte as Java writes them.

GROUP = BrokerData("C1", "ba", {1: "10.0.0.2:10911", 0: "10.0.0.1:10911"}, "z1", True)
QUEUES = queue_data(4, 5, 6, 0)


def test_maps_of_strings_are_sorted_by_code_unit() -> None:
    """B091: a character beyond the BMP sorts before U+FFFF in Java."""
    table = {"\uffff": ["c"], "\U0001f600": ["b"], "a": ["a"]}
    route = TopicRouteData(queue_datas=[("ba", QUEUES)], broker_datas=[GROUP], filter_server_table=table)
    body = bodies.topic_route_data(route, standard=True)
    assert list(json.loads(body)["filterServerTable"]) == ["a", "\U0001f600", "\uffff"]


def test_lists_and_tables_are_sorted() -> None:
    """Java's have the order of its hash maps."""
    assert bodies.topic_list({"b", "a"}, 2) == b'{"topicList":["a","b"]}'
    assert bodies.kv_table({"b": "", "a": "1", "c": None}) == b'{"table":{"a":"1","b":""}}'
    groups = {name: BrokerData("C", name, {}) for name in ("b", "a")}
    clusters = json.loads(bodies.cluster_info(groups, {"D": [], "C": ["b", "a"]}, 1_000))
    assert [list(table) for table in clusters.values()] == [["a", "b"], ["C", "D"]]
    assert clusters["clusterAddrTable"]["C"] == ["a", "b"]


# Routes in answers of other name servers: an encoded route is decoded again, and nonsense is one kind of error.

names, optional = st.text(min_size=1, max_size=8), st.none() | texts
groups = st.builds(BrokerData, optional, names, st.dictionaries(longs, texts, max_size=3), optional, st.booleans())
mappings = st.builds(
    TopicQueueMappingInfo, optional, optional, st.none() | st.dictionaries(ints, ints, max_size=3), st.booleans(),
    longs, optional, ints,
)  # fmt: skip
routes = st.builds(
    TopicRouteData,
    st.lists(st.tuples(names, st.builds(queue_data, ints, ints, ints, ints)), max_size=3),
    st.lists(groups, max_size=3),
    st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
    st.none() | st.dictionaries(names, mappings, max_size=2),
    optional,
)
KEYS = ["brokerDatas", "queueDatas", "filterServerTable", "orderTopicConf", "topicQueueMappingByBroker", "brokerAddrs",
        "brokerName", "cluster", "zoneName", "enableActingMaster", "perm", "currIdMap", "epoch"]  # fmt: skip
route_like = st.recursive(
    json_values,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=12,
)


def without_what_json_leaves_out(route: TopicRouteData) -> TopicRouteData:
    """A null scope is not written, and then read as the default."""
    for info in (route.topic_queue_mapping_by_broker or {}).values():
        if info.scope is None:
            object.__setattr__(info, "scope", TopicQueueMappingInfo().scope)
        if info.curr_id_map is None:
            object.__setattr__(info, "curr_id_map", {})
    return route


@given(routes, st.booleans())
def test_there_and_back(route: TopicRouteData, standard: bool) -> None:
    """B248: in both dialects."""
    body = bodies.topic_route_data(route, standard=standard)
    if standard:
        assert orjson.loads(body) == fastjson.loads(body)  # what every JSON parser reads
    assert decode_topic_route_data(body) == without_what_json_leaves_out(route)


def decoded(**fields: Any) -> TopicRouteData:
    return decode_topic_route_data(json.dumps({"brokerDatas": [], "queueDatas": []} | fields).encode())


def test_optional_parts_of_a_route_may_be_missing() -> None:
    """B248: everything but the names of brokers and their addresses."""
    assert decode_topic_route_data(b"{}") == TopicRouteData([], [], {})
    assert decoded(filterServerTable=None, topicQueueMappingByBroker=None) == TopicRouteData([], [], {})
    assert decoded(filterServerTable={"a": None, "b": ["c", None]}).filter_server_table == {"b": ["c", None]}
    (group,) = decoded(brokerDatas=[{"brokerName": "b", "brokerAddrs": {"0": "a", "1": None}}]).broker_datas
    assert group == BrokerData(None, "b", {0: "a"})
    assert decoded(queueDatas=[{"brokerName": "b"}]).queue_datas == [("b", QueueData(0, 0, 0, 0))]
    # numbers become names as they are written
    (group,) = decode_topic_route_data(b'{"brokerDatas":[{"brokerName":1.50,"brokerAddrs":{0:2}}]}').broker_datas
    assert (group.broker_name, group.broker_addrs) == ("1.50", {0: "2"})


@pytest.mark.parametrize(
    "fields",
    [
        {"brokerDatas": None},
        {"brokerDatas": {}},
        {"brokerDatas": [None]},
        {"brokerDatas": [{"brokerAddrs": {}}]},
        {"brokerDatas": [{"brokerName": "b"}]},
        {"brokerDatas": [{"brokerName": "b", "brokerAddrs": {"x": "a"}}]},
        {"queueDatas": "x"},
        {"queueDatas": [{"perm": 6}]},
        {"filterServerTable": {"a": "b"}},
        {"topicQueueMappingByBroker": {"b": None}},
    ],
    ids=str,
)
def test_no_route(fields: dict[str, Any]) -> None:
    """B248: a body without a route is a BodyDecodeError."""
    with pytest.raises(BodyDecodeError):
        decoded(**fields)


@pytest.mark.parametrize("body", [b"", b"null", b'""', b"[]", b"1", b"{", b"\xff", b"[" * 5000])
def test_no_object(body: bytes) -> None:
    """B248: a body that is not an object is a BodyDecodeError."""
    with pytest.raises(BodyDecodeError):
        decode_topic_route_data(body)


@given(
    st.one_of(
        any_bytes,
        json_texts(route_like),
        mutated(st.builds(lambda route: bodies.topic_route_data(route, standard=False), routes)),
    )
)
def test_any_bytes(body: bytes) -> None:
    """B248: a route that can be answered, or a BodyDecodeError."""
    try:
        route = decode_topic_route_data(body)
    except BodyDecodeError:
        return
    bodies.topic_route_data(route, standard=True)
    bodies.topic_route_data(route, standard=False)


def test_a_route_is_also_read_without_its_brokers() -> None:
    body = b'{"brokerDatas":[7],"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":8}]}'
    route = decode_route_without_brokers(body)
    assert (route.broker_datas, [name for name, _ in route.queue_datas]) == ([], ["a"])
    assert route.queue_datas[0][1][:3] == (4, 8, 6)


# The names of version numbers: those of MQVersion.Version in RocketMQ 5.5.0.


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (-1, "before 4.0.0"),
        (211, "before 4.0.0"),  # V3_9_9
        (401, "4.9.4"),
        (412, "5.0.0-SNAPSHOT"),
        (513, "5.5.0"),
        (612, "after 5.9.9"),  # HIGHER_VERSION
    ],
)
def test_a_version_number_has_javas_name(number: int, name: str) -> None:
    assert version_name(number) == name
