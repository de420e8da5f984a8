"""Routes in answers of other name servers: an encoded route is decoded again, and nonsense is one kind of error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.protocol.body.route_decoding import decode_route_without_brokers, decode_topic_route_data
from tests.protocol.strategies import any_bytes, ints, json_texts, json_values, longs, mutated

names = st.text(min_size=1, max_size=8)
optional = st.one_of(st.none(), names)
broker_datas = st.builds(
    BrokerData, optional, names, st.dictionaries(longs, names, max_size=3), optional, st.booleans()
)
mappings = st.builds(
    TopicQueueMappingInfo, optional, optional, st.one_of(st.none(), st.dictionaries(ints, ints, max_size=3)),
    st.booleans(), longs, optional, ints,
)  # fmt: skip
routes = st.builds(
    TopicRouteData,
    st.lists(st.tuples(names, st.builds(QueueData, ints, ints, ints, ints)), max_size=3),
    st.lists(broker_datas, max_size=3),
    st.dictionaries(names, st.lists(names, max_size=2), max_size=2),
    st.one_of(st.none(), st.dictionaries(names, mappings, max_size=2)),
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


def test_numbers_as_names() -> None:
    """B248: numbers become names as they are written."""
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
