"""Java's beans from JSON: data versions, queue data, static-topic mappings, routes; and how bodies are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Any

from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.errors import BodyDecodeError, NullRefused
from rocketns.protocol.body.route import (
    BrokerData,
    DataVersion,
    QueueData,
    TopicQueueMappingInfo,
    TopicRouteData,
    queue_data,
)
from rocketns.protocol.bounds import CONVERTED_VALUES_MAX, MAPPINGS_MAX, QUEUE_DATAS_MAX
from rocketns.protocol.codes import METADATA_SCOPE_GLOBAL
from rocketns.protocol.json import fastjson
from rocketns.protocol.names import check_name


@contextmanager
def java_errors() -> Iterator[None]:
    """Puts the class of Java's exception in front of the remark, for requests where Java does so."""
    try:
        yield
    except BodyDecodeError as error:
        raise BodyDecodeError(f"{error.java_class}: {error.remark}") from error


def check_count(values: Sized, most: int, of_what: str) -> None:
    """Refuses more values than the limit."""
    if len(values) > most:
        raise BodyDecodeError(f"more than {most} {of_what}")


def decode_data_version(body: bytes | None, now_ms: int) -> DataVersion | None:
    """DataVersion.decode: None for no body and for ``null``. ``now_ms`` as in `data_version_from_json`."""
    with java_errors():
        return data_version_from_json(fastjson.loads(body), now_ms) if body else None


def data_version_from_json(value: Any, now_ms: int) -> DataVersion | None:
    """DataVersion from its JSON value. ``now_ms`` (epoch) stands in for a missing timestamp."""
    fields = fastjson.as_object(value)
    if fields is None:
        return None
    counter = fields.get("counter", 0)
    return DataVersion(
        fastjson.as_long(fields.get("stateVersion")),
        fastjson.as_long(fields["timestamp"]) if "timestamp" in fields else now_ms,
        None if counter is None else fastjson.as_long(counter),
    )


def decode_queue_datas(body: bytes | None, name_bytes_max: int = NAME_BYTES_MAX) -> list[tuple[str | None, QueueData]]:
    """The queueDatas of a TopicRouteData with their brokers' names; a null among them names no broker."""
    with java_errors():
        queue_datas = [] if body is None else fastjson.read(body, _queue_datas)
        for name, _ in queue_datas:
            check_name(name, name_bytes_max, "a broker's name")
        return queue_datas


def queue_data_from_json(fields: dict[str, Any]) -> QueueData:
    """QueueData from its JSON object; missing numbers are 0."""
    keys = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
    return queue_data(*(fastjson.as_int(fields.get(key)) for key in keys))


def _queue_datas(value: Any) -> list[tuple[str | None, QueueData]]:
    items = (fastjson.as_object(value) or {}).get("queueDatas")
    if items is None or items == "":
        return []
    listed = items if isinstance(items, list) else [items]
    check_count(listed, QUEUE_DATAS_MAX, "brokers of a topic")
    present = (fastjson.as_object(item) or {} for item in listed)
    return [(fastjson.exact_text(fields.get("brokerName")), queue_data_from_json(fields)) for fields in present]


def mapping_infos_from_json(value: Any) -> dict[str, TopicQueueMappingInfo] | None:
    """topicQueueMappingInfoMap, without its nulls. None where the map itself is null."""
    mappings = fastjson.as_object(value)
    if mappings is None:
        return None
    check_count(mappings, MAPPINGS_MAX, "static topics")
    present = {key: fastjson.as_object(info) for key, info in mappings.items()}
    return {key: mapping_info_from_json(fields) for key, fields in present.items() if fields is not None}


def mapping_info_from_json(fields: dict[str, Any]) -> TopicQueueMappingInfo:
    """TopicQueueMappingInfo from its JSON object; missing fields keep the class defaults."""
    ids = fastjson.as_object(fields.get("currIdMap", {}))
    check_count(ids or (), CONVERTED_VALUES_MAX, "queue ids of a static topic")
    return TopicQueueMappingInfo(
        topic=fastjson.exact_text(fields.get("topic")),
        bname=fastjson.exact_text(fields.get("bname")),
        curr_id_map=None if ids is None else {_map_int(key): _map_int(value) for key, value in ids.items()},
        dirty=fastjson.as_bool(fields.get("dirty")),
        epoch=fastjson.as_long(fields.get("epoch")),
        scope=fastjson.exact_text(fields.get("scope", METADATA_SCOPE_GLOBAL)),
        total_queues=fastjson.as_int(fields.get("totalQueues")),
    )


def _map_int(value: Any) -> int:
    if value in (None, "", "null"):
        raise NullRefused("a queue id is null")
    return fastjson.as_int(value)


def decode_topic_route_data(body: bytes) -> TopicRouteData:
    """The route. BodyDecodeError where the body is not one."""
    return fastjson.read(body, _topic_route_data)


def decode_route_without_brokers(body: bytes) -> TopicRouteData:
    """As `decode_topic_route_data`, in less than half of the time: ``broker_datas`` is empty, and not looked at."""
    return fastjson.read(body, lambda value: _topic_route_data(_object(value) | {"brokerDatas": []}))


def decode_cluster_info(body: bytes) -> dict[str, BrokerData]:
    """The broker groups of a ClusterInfo by name. BodyDecodeError where the body is not one."""

    def groups(value: Any) -> dict[str, BrokerData]:
        table = _object(_object(value).get("brokerAddrTable", {}))
        return {name: _broker_data(group) for name, group in table.items()}

    return fastjson.read(body, groups)


def decode_topic_list(body: bytes) -> list[str]:
    """The names of a TopicList, without nulls. BodyDecodeError where the body is not one."""
    names = fastjson.read(body, lambda value: [*map(fastjson.exact_text, _list(_object(value).get("topicList", [])))])
    return [name for name in names if name is not None]


def decode_kv_table(body: bytes) -> dict[str, str]:
    """The items of a KVTable, without nulls. BodyDecodeError where the body is not one."""
    return fastjson.read(body, lambda value: _texts(_object(_object(value).get("table", {}))), numeric_keys=False)


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
