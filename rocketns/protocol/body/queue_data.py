"""QueueData from JSON: the body of REGISTER_TOPIC_IN_NAMESRV, and a part of a route."""

from __future__ import annotations

from typing import Any

from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.protocol.body.refusals import check_count, java_errors
from rocketns.protocol.body.route import QueueData, queue_data
from rocketns.protocol.bounds import QUEUE_DATAS_MAX
from rocketns.protocol.json import fastjson
from rocketns.protocol.names import check_name


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
    return [_named_queue_data(fastjson.as_object(item)) for item in listed]


def _named_queue_data(fields: dict[str, Any] | None) -> tuple[str | None, QueueData]:
    if fields is None:
        return None, queue_data(0, 0, 0, 0)
    return fastjson.exact_text(fields.get("brokerName")), queue_data_from_json(fields)
