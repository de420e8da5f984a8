"""The bodies of answers, byte for byte as fastjson2 writes Java's beans: keys are sorted, and nulls left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

from rocketns.errors import AnswerTooLarge
from rocketns.protocol.body.route import BrokerData, DataVersion, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.protocol.json.fastjson import dumps, long_value, numeric_map

COUNTED_AT_ONCE = 10_000
TOO_MANY_BYTES = "the answer has more bytes than rocketns.outgoingBytesMax"


def _without_nulls(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _code_units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")  # Java sorts strings by UTF-16 code unit


def _sorted_map(members: Mapping[Any, Any]) -> dict[str, Any]:
    present = {key: value for key, value in members.items() if key is not None and value is not None}
    return {key: present[key] for key in sorted(present, key=_code_units)}


def _broker_data(group: BrokerData, *, standard: bool) -> dict[str, Any]:
    return _without_nulls(
        {
            "brokerAddrs": numeric_map(group.broker_addrs, standard=standard),
            "brokerName": group.broker_name,
            "cluster": group.cluster,
            "enableActingMaster": group.enable_acting_master,
            "zoneName": group.zone_name,
        }
    )


def _queue_data(broker_name: str, queues: QueueData) -> dict[str, Any]:
    return {
        "brokerName": broker_name,
        "perm": queues.perm,
        "readQueueNums": queues.read_queue_nums,
        "topicSysFlag": queues.topic_sys_flag,
        "writeQueueNums": queues.write_queue_nums,
    }


def queue_data(broker_name: str, queues: tuple[int, int, int, int]) -> bytes:
    """One element of queueDatas. It is the same in standard and default mode."""
    return dumps(_queue_data(broker_name, QueueData(*queues)))


def broker_data(group: BrokerData, *, standard: bool) -> bytes:
    """One element of brokerDatas."""
    return dumps(_broker_data(group, standard=standard))


def _mapping_info(info: TopicQueueMappingInfo, *, standard: bool) -> dict[str, Any]:
    ids = None if info.curr_id_map is None else numeric_map(info.curr_id_map, standard=standard)
    return _without_nulls(
        {
            "bname": info.bname,
            "currIdMap": ids,
            "dirty": info.dirty,
            "epoch": long_value(info.epoch, standard=standard),
            "scope": info.scope,
            "topic": info.topic,
            "totalQueues": info.total_queues,
        }
    )


def topic_route_data(route: TopicRouteData, *, standard: bool) -> bytes:
    """TopicRouteData. ``standard`` is the mode for clients from 4.9.4 on: numeric keys and large longs are quoted."""
    mappings = route.topic_queue_mapping_by_broker
    return dumps(
        _without_nulls(
            {
                "brokerDatas": [_broker_data(group, standard=standard) for group in route.broker_datas],
                "filterServerTable": _sorted_map(route.filter_server_table),
                "orderTopicConf": route.order_topic_conf,
                "queueDatas": [_queue_data(name, queues) for name, queues in route.queue_datas],
                "topicQueueMappingByBroker": None
                if mappings is None
                else _sorted_map({name: _mapping_info(info, standard=standard) for name, info in mappings.items()}),
            }
        )
    )


def cluster_info(brokers: Mapping[str, BrokerData], clusters: Mapping[str, Iterable[str]], bytes_max: int) -> bytes:
    """ClusterInfo, in default mode for every client version. AnswerTooLarge once there are more than ``bytes_max``."""
    groups = _bounded(((name, _broker_data(brokers[name], standard=False)) for name in sorted(brokers)), bytes_max)
    names = _bounded(((name, sorted(clusters[name])) for name in sorted(clusters)), bytes_max, len(groups))
    return b'{"brokerAddrTable":%b,"clusterAddrTable":%b}' % (groups, names)


def _bounded(members: Iterable[tuple[str, Any]], bytes_max: int, size: int = 0) -> bytes:
    """A JSON object behind ``size`` bytes of others. What would follow after ``bytes_max`` is not made."""
    parts = []
    for name, value in members:
        parts.append(b"%b:%b" % (dumps(name), dumps(value)))
        size += len(parts[-1])
        if size > bytes_max:
            raise AnswerTooLarge(TOO_MANY_BYTES, bytes_max)
    return b"{%b}" % b",".join(parts)


def broker_member_group(cluster: str | None, broker_name: str | None, addrs: Mapping[int, str]) -> bytes:
    """GetBrokerMemberGroupResponseBody."""
    ids = numeric_map(dict(addrs), standard=False)
    group = _without_nulls({"brokerAddrs": ids, "brokerName": broker_name, "cluster": cluster})
    return dumps({"brokerMemberGroup": group})


def topic_list(topics: Collection[str], bytes_max: int, broker_addr: str | None = None) -> bytes:
    """TopicList, sorted. Java writes it in hash order. AnswerTooLarge, before they are sorted, for more characters."""
    names, size = iter(topics), 0
    while some := [*islice(names, COUNTED_AT_ONCE)]:
        size += sum(map(len, some))
        if size > bytes_max:
            raise AnswerTooLarge(TOO_MANY_BYTES, bytes_max)
    return dumps(_without_nulls({"brokerAddr": broker_addr, "topicList": sorted(topics)}))


def kv_table(table: Mapping[str, str | None]) -> bytes:
    """KVTable, without null values."""
    return dumps({"table": {key: table[key] for key in sorted(table) if table[key] is not None}})


def data_version(version: DataVersion) -> bytes:
    """DataVersion."""
    return dumps(
        _without_nulls(
            {"counter": version.counter, "stateVersion": version.state_version, "timestamp": version.timestamp}
        )
    )
