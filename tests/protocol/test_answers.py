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
    DataVersion,
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


def json_header(frame: bytes) -> bytes:
    return frame[8 : 8 + int.from_bytes(frame[5:8], "big")]


@pytest.mark.parametrize(
    ("reply", "header"),
    [
        (Reply(), b'{"code":0,"flag":1,"language":"JAVA","opaque":106,"serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(ext_fields={}), b'{"code":0,"extFields":{},"flag":1,"language":"JAVA","opaque":106,'
                               b'"serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(22, 'a "b"\n', {"v": "1", "w": None, "x": ""}),
         b'{"code":22,"extFields":{"v":"1","x":""},"flag":1,"language":"JAVA","opaque":106,'
         b'"remark":"a \\"b\\"\\n","serializeTypeCurrentRPC":"JSON","version":513}'),
        (Reply(1, "\ud800"), b'{"code":1,"flag":1,"language":"JAVA","opaque":106,"remark":"?",'
                             b'"serializeTypeCurrentRPC":"JSON","version":513}'),
    ],
)  # fmt: skip
def test_a_json_answer_has_javas_fields_in_javas_order(reply: Reply, header: bytes) -> None:
    """B005, B006, B007, B008."""
    frame = encode_reply(reply, 106, JSON)
    assert json_header(frame) == header
    assert len(frame) == int.from_bytes(frame[:4], "big") + 4 == 8 + len(header)


def test_a_binary_answer_has_javas_layout() -> None:
    """B033: GET_KV_CONFIG, opaque 108, value 1."""
    frame = encode_reply(Reply(ext_fields={"value": "1", "none": None}), 108, ROCKETMQ)
    expected = "0000 00 0201 0000006c 00000001 00000000 0000000c 0005 76616c7565 00000001 31"
    assert frame[8:].hex() == expected.replace(" ", "")
    assert encode_reply(Reply(remark="\ud800é"), 1, ROCKETMQ)[25:28] == "?é".encode()


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


def plain_route(**more: Any) -> TopicRouteData:
    return TopicRouteData(
        **({"queue_datas": [("ba", QUEUES)], "broker_datas": [GROUP], "filter_server_table": {}} | more)
    )


def test_a_route_leaves_out_absent_members() -> None:
    """B087, B202, B204."""
    group = BrokerData(None, "ba", {})
    route = plain_route(broker_datas=[group], filter_server_table={"b:1": None, "a:1": ["f", None]})
    assert bodies.topic_route_data(route, standard=True) == (
        b'{"brokerDatas":[{"brokerAddrs":{},"brokerName":"ba","enableActingMaster":false}],'
        b'"filterServerTable":{"a:1":["f",null]},'
        b'"queueDatas":[{"brokerName":"ba","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":5}]}'
    )


@pytest.mark.parametrize(
    ("standard", "epoch", "ids"),
    [(True, b'"9007199254740992"', b'{"-1":5,"2":0,"10":7}'), (False, b"9007199254740992", b"{-1:5,2:0,10:7}")],
)
def test_a_static_topic_shows_its_mappings(standard: bool, epoch: bytes, ids: bytes) -> None:
    """B092, B162, B203: the numbers as the mode has them, the order configuration between."""
    info = TopicQueueMappingInfo("ST1", "ba", {10: 7, -1: 5, 2: 0}, True, 2**53, "__global__", 8)
    empty = TopicQueueMappingInfo(curr_id_map=None, scope=None)
    route = plain_route(topic_queue_mapping_by_broker={"bb": empty, "ba": info, None: info}, order_topic_conf="ba:4")
    body = bodies.topic_route_data(route, standard=standard)
    tail = body[body.index(b'"filterServerTable"') :]
    assert tail == (
        b'"filterServerTable":{},"orderTopicConf":"ba:4",'
        b'"queueDatas":[{"brokerName":"ba","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":5}],'
        b'"topicQueueMappingByBroker":{"ba":{"bname":"ba","currIdMap":' + ids + b',"dirty":true,"epoch":' + epoch + b","
        b'"scope":"__global__","topic":"ST1","totalQueues":8},"bb":{"dirty":false,"epoch":0,"totalQueues":0}}}'
    )


def test_maps_of_strings_are_sorted_by_code_unit() -> None:
    """B091: a character beyond the BMP sorts before U+FFFF in Java."""
    table = {"\uffff": ["c"], "\U0001f600": ["b"], "a": ["a"]}
    body = bodies.topic_route_data(plain_route(filter_server_table=table), standard=True)
    assert list(json.loads(body)["filterServerTable"]) == ["a", "\U0001f600", "\uffff"]


def test_cluster_info_is_in_default_mode() -> None:
    """B216."""
    other = BrokerData("C2", "bb", {})
    assert bodies.cluster_info({"bb": other, "ba": GROUP}, {"C2": {"bb"}, "C1": {"bb", "ba"}}, 1_000) == (
        b'{"brokerAddrTable":{"ba":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"ba",'
        b'"cluster":"C1","enableActingMaster":true,"zoneName":"z1"},'
        b'"bb":{"brokerAddrs":{},"brokerName":"bb","cluster":"C2","enableActingMaster":false}},'
        b'"clusterAddrTable":{"C1":["ba","bb"],"C2":["bb"]}}'
    )
    assert bodies.cluster_info({}, {}, 1_000) == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'


def test_lists_tables_and_versions() -> None:
    """B087, B096, B103, B168, B221, B232."""
    assert bodies.topic_list({"b", "a"}, 2) == b'{"topicList":["a","b"]}'
    assert bodies.topic_list([], 0, "a:1") == b'{"brokerAddr":"a:1","topicList":[]}'
    assert bodies.kv_table({"b": "", "a": "1", "c": None}) == b'{"table":{"a":"1","b":""}}'
    assert bodies.data_version(DataVersion(2, 3, 1)) == b'{"counter":1,"stateVersion":2,"timestamp":3}'
    assert bodies.data_version(DataVersion(2, 3, None)) == b'{"stateVersion":2,"timestamp":3}'


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
