"""The compressed form of RegisterBrokerBody, inflated: blocks of the version, the topics and the filter servers.

From 5.0 on a section of static topics follows them.
"""

from __future__ import annotations

from typing import Any

from rocketns._fast.codec import registration_blocks
from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.data_version import data_version_from_json
from rocketns.protocol.body.refusals import compiled_errors
from rocketns.protocol.body.registration.inflating import BLOCK_LIMITS
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody, filter_servers_from_json
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import TopicQueueMappingInfo, TopicTable, queue_data
from rocketns.protocol.body.topic_queue_mapping import mapping_info_from_json
from rocketns.protocol.bounds import Allowance
from rocketns.protocol.json import fastjson


def decode_blocks(data: bytes | bytearray | memoryview, mappings: bool, now_ms: int) -> RegisterBrokerBody:
    """``mappings``: the section of static topics must be there. ``now_ms`` as in `decode_plain`."""
    with compiled_errors():
        stamp, queues, filters, infos = registration_blocks.read(data, mappings, BLOCK_LIMITS, queue_data)
    allowance = Allowance()
    wrapper = TopicConfigWrapper(
        data_version_from_json(fastjson.loads(stamp, allowance=allowance), now_ms) if stamp else None,
        TopicTable(queues, {}),
        dict(_mapping_info(info, allowance) for info in infos),
    )
    return RegisterBrokerBody(wrapper, _filter_servers(filters, allowance))


def _mapping_info(data: bytes, allowance: Allowance) -> tuple[str, TopicQueueMappingInfo]:
    info = fastjson.read(data, _present_mapping_info, allowance=allowance)
    if info is None or info.topic is None:
        raise BodyDecodeError("a static-topic mapping names no topic")
    return info.topic, info


def _present_mapping_info(value: Any) -> TopicQueueMappingInfo | None:
    fields = fastjson.as_object(value)
    return None if fields is None else mapping_info_from_json(fields)


def _filter_servers(data: bytes, allowance: Allowance) -> list[str | None] | None:
    try:
        text = data.decode("utf-8", "replace").encode()
        return fastjson.read(text, _parsed_array, allowance=allowance) if data else None
    except BodyDecodeError:
        return []  # Java logs the error and keeps its empty list


def _parsed_array(value: Any) -> list[str | None] | None:
    """JSON.parseArray of strings. Unlike a list in a bean, an object counts as one string, and a number is refused."""
    if isinstance(value, dict):
        return [fastjson.exact_text(value)]
    return None if value is None else filter_servers_from_json(value) or []
