"""Decodes what another name server answered: TopicRouteData, ClusterInfo, TopicList and KVTable."""

from __future__ import annotations

from typing import Any

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.queue_data import queue_data_from_json
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.body.topic_queue_mapping import mapping_info_from_json
from rocketns.protocol.json import fastjson


def decode_topic_route_data(body: bytes) -> TopicRouteData:
    """The route. BodyDecodeError where the body is not one."""
    return fastjson.read(body, _topic_route_data)


def decode_route_without_brokers(body: bytes) -> TopicRouteData:
    """As `decode_topic_route_data`, in less than half of the time: ``broker_datas`` is empty, and not looked at."""
    return fastjson.read(body, lambda value: _topic_route_data(_object(value) | {"brokerDatas": []}))


def decode_cluster_info(body: bytes) -> dict[str, BrokerData]:
    """The broker groups of a ClusterInfo by name. BodyDecodeError where the body is not one."""
    return fastjson.read(body, _groups)


def decode_topic_list(body: bytes) -> list[str]:
    """The names of a TopicList, without nulls. BodyDecodeError where the body is not one."""
    return fastjson.read(body, _topic_names)


def decode_kv_table(body: bytes) -> dict[str, str]:
    """The items of a KVTable, without nulls. BodyDecodeError where the body is not one."""
    return fastjson.read(body, lambda value: _texts(_object(_object(value).get("table", {}))), numeric_keys=False)


def _groups(value: Any) -> dict[str, BrokerData]:
    table = _object(_object(value).get("brokerAddrTable", {}))
    return {name: _broker_data(group) for name, group in table.items()}


def _topic_names(value: Any) -> list[str]:
    names = (fastjson.exact_text(name) for name in _list(_object(value).get("topicList", [])))
    return [name for name in names if name is not None]


def _topic_route_data(value: Any) -> TopicRouteData:
    fields = _object(value)
    mappings = fastjson.as_object(fields.get("topicQueueMappingByBroker"))
    return TopicRouteData(
        queue_datas=[_queue_data(item) for item in _list(fields.get("queueDatas", []))],
        broker_datas=[_broker_data(item) for item in _list(fields.get("brokerDatas", []))],
        filter_server_table=_filter_servers(fastjson.as_object(fields.get("filterServerTable"))),
        topic_queue_mapping_by_broker=None
        if mappings is None
        else {name: mapping_info_from_json(_object(info)) for name, info in mappings.items()},
        order_topic_conf=fastjson.exact_text(fields.get("orderTopicConf")),
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BodyDecodeError("a route has something else where a list belongs")
    return value


def _object(value: Any) -> dict[str, Any]:
    fields = fastjson.as_object(value)
    if fields is None:
        raise BodyDecodeError("an entry of a route is null")
    return fields


def _name(fields: dict[str, Any]) -> str:
    name = fastjson.exact_text(fields.get("brokerName"))
    if name is None:
        raise BodyDecodeError("a broker of a route has no name")
    return name


def _queue_data(item: Any) -> tuple[str, QueueData]:
    fields = _object(item)
    return _name(fields), queue_data_from_json(fields)


def _broker_data(item: Any) -> BrokerData:
    fields = _object(item)
    addrs = _object(fields.get("brokerAddrs"))
    return BrokerData(
        fastjson.exact_text(fields.get("cluster")),
        _name(fields),
        {fastjson.as_long(broker_id): addr for broker_id, addr in _texts(addrs).items()},
        fastjson.exact_text(fields.get("zoneName")),
        fastjson.as_bool(fields.get("enableActingMaster")),
    )


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    """Without nulls: an answer would not have them either."""
    texts = {key: fastjson.exact_text(value) for key, value in fields.items()}
    return {key: text for key, text in texts.items() if text is not None}


def _filter_servers(table: dict[str, Any] | None) -> dict[str, list[str | None] | None]:
    present = {addr: servers for addr, servers in (table or {}).items() if servers is not None}
    return {addr: [fastjson.exact_text(server) for server in _list(servers)] for addr, servers in present.items()}
