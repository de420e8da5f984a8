"""TopicConfigSerializeWrapper from JSON: a broker's topics and their version, and from 5.0 on its static topics.

Brokers from before 3.0.11 send it alone, later ones inside a RegisterBrokerBody.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rocketns._fast.codec import json_beans
from rocketns.errors import NullRefused
from rocketns.protocol.body.data_version import data_version_from_json
from rocketns.protocol.body.refusals import check_count, compiled_errors, java_errors
from rocketns.protocol.body.route import DataVersion, TopicConfig, TopicQueueMappingInfo, TopicTable, queue_data
from rocketns.protocol.body.topic_queue_mapping import mapping_infos_from_json
from rocketns.protocol.bounds import BLOCKS_MAX
from rocketns.protocol.codes import PERM_READ, PERM_WRITE
from rocketns.protocol.json import fastjson

DEFAULT_QUEUE_NUMS = 16  # TopicConfig.defaultReadQueueNums, defaultWriteQueueNums
DEFAULT_PERM = PERM_READ | PERM_WRITE

NO_VERSION = DataVersion(0, 0, 0)


@dataclass(slots=True)
class TopicConfigWrapper:
    """TopicConfigAndMappingSerializeWrapper. None stands for an explicit JSON null, which is not the same as empty."""

    data_version: DataVersion | None
    topic_config_table: TopicTable | None = field(default_factory=lambda: TopicTable({}, {}))
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] | None = field(default_factory=dict)


def decode_topic_config_wrapper(body: bytes | None, now_ms: int) -> TopicConfigWrapper | None:
    """What a broker from before 3.0.11 sends: the wrapper alone; None for the text ``null``."""
    if body is None:
        return TopicConfigWrapper(NO_VERSION)
    with java_errors():
        wrapper = fastjson.read(body, lambda value: wrapper_from_json(value, now_ms))
    if wrapper is not None:
        wrapper.topic_queue_mapping_info_map = {}  # TopicConfigSerializeWrapper has no static topics
    return wrapper


def wrapper_from_json(value: Any, now_ms: int) -> TopicConfigWrapper | None:
    """The wrapper from its JSON value. ``now_ms`` (epoch) stands in for the timestamp of a version without one."""
    fields = fastjson.as_object(value)
    if fields is None:
        return None
    table = fastjson.as_object(fields.get("topicConfigTable", {}))
    mappings = fastjson.as_object(fields.get("topicQueueMappingInfoMap", {}))
    return TopicConfigWrapper(
        data_version_from_json(fields.get("dataVersion", {}), now_ms),
        None if table is None else _topic_table(table),
        mapping_infos_from_json(mappings),
    )


def _topic_table(table: dict[str, Any]) -> TopicTable:
    check_count(table, BLOCKS_MAX, "topics")
    with compiled_errors():
        queues, renamed = json_beans.topic_tables(table, queue_data, _topic_config, DEFAULT_QUEUE_NUMS, DEFAULT_PERM)
    return TopicTable(queues, renamed)


def _topic_config(value: Any) -> TopicConfig:
    fields = fastjson.as_object(value)
    if fields is None:
        raise NullRefused("a topic is null")
    fastjson.as_object(fields.get("attributes"))
    return TopicConfig(
        fastjson.exact_text(fields.get("topicName")),
        queue_data(
            fastjson.as_int(fields.get("readQueueNums", DEFAULT_QUEUE_NUMS)),
            fastjson.as_int(fields.get("writeQueueNums", DEFAULT_QUEUE_NUMS)),
            fastjson.as_int(fields.get("perm", DEFAULT_PERM)),
            fastjson.as_int(fields.get("topicSysFlag", 0)),
        ),
    )
