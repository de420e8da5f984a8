"""The bodies of answers, byte for byte as Java writes them."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.protocol.body import bodies, route_decoding
from rocketns.protocol.body.route import BrokerData, DataVersion, TopicQueueMappingInfo, TopicRouteData, queue_data
from rocketns.protocol.json import fastjson
from tests.protocol.strategies import ints, longs, texts

GROUP = BrokerData("C1", "ba", {1: "10.0.0.2:10911", 0: "10.0.0.1:10911"}, "z1", True)
QUEUES = queue_data(4, 5, 6, 0)


def plain_route(**more: Any) -> TopicRouteData:
    return TopicRouteData(
        **({"queue_datas": [("ba", QUEUES)], "broker_datas": [GROUP], "filter_server_table": {}} | more)
    )


def test_a_route_for_clients_since_4_9_4_has_quoted_keys() -> None:
    """B091, B198, B201."""
    assert bodies.topic_route_data(plain_route(), standard=True) == (
        b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"},"brokerName":"ba","cluster":"C1",'
        b'"enableActingMaster":true,"zoneName":"z1"}],"filterServerTable":{},'
        b'"queueDatas":[{"brokerName":"ba","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":5}]}'
    )


def test_a_route_for_older_clients_has_bare_keys() -> None:
    """B090, B199."""
    quoted = bodies.topic_route_data(plain_route(), standard=True)
    bare = quoted.replace(b'{"0":', b"{0:").replace(b',"1":', b",1:")
    assert bodies.topic_route_data(plain_route(), standard=False) == bare


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


def test_a_member_group_echoes_what_was_asked() -> None:
    """B217, B218."""
    assert bodies.broker_member_group("C1", "ba", {1: "b:1", 0: "a:1"}) == (
        b'{"brokerMemberGroup":{"brokerAddrs":{0:"a:1",1:"b:1"},"brokerName":"ba","cluster":"C1"}}'
    )
    assert bodies.broker_member_group(None, None, {}) == b'{"brokerMemberGroup":{"brokerAddrs":{}}}'


def test_lists_tables_and_versions() -> None:
    """B087, B096, B103, B168, B221, B232."""
    assert bodies.topic_list({"b", "a"}, 2) == b'{"topicList":["a","b"]}'
    assert bodies.topic_list([], 0, "a:1") == b'{"brokerAddr":"a:1","topicList":[]}'
    assert bodies.kv_table({"b": "", "a": "1", "c": None}) == b'{"table":{"a":"1","b":""}}'
    assert bodies.data_version(DataVersion(2, 3, 1)) == b'{"counter":1,"stateVersion":2,"timestamp":3}'
    assert bodies.data_version(DataVersion(2, 3, None)) == b'{"stateVersion":2,"timestamp":3}'


groups = st.builds(BrokerData, st.none() | texts, texts, st.dictionaries(longs, texts, max_size=3), st.none() | texts,
                   st.booleans())  # fmt: skip
infos = st.builds(TopicQueueMappingInfo, st.none() | texts, st.none() | texts,
                  st.dictionaries(ints, ints, max_size=3), st.booleans(), longs, texts, ints)  # fmt: skip
routes = st.builds(
    TopicRouteData,
    st.lists(st.tuples(texts, st.builds(queue_data, ints, ints, ints, ints)), max_size=3),
    st.lists(groups, max_size=3),
    st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
    st.none() | st.dictionaries(texts, infos, max_size=2),
    st.none() | texts,
)


@given(routes, st.booleans())
def test_a_route_is_read_back_from_either_mode(route: TopicRouteData, standard: bool) -> None:
    body = bodies.topic_route_data(route, standard=standard)
    assert route_decoding.decode_topic_route_data(body) == route
    if standard:
        assert orjson.loads(body) == fastjson.loads(body)  # what every JSON parser reads
