"""TopicQueueMappingInfo from JSON: what a registration or a route says of static topics (RIP-21)."""

from __future__ import annotations

from typing import Any

from rocketns._fast.codec import json_beans
from rocketns.errors import NullRefused
from rocketns.protocol.body.refusals import check_count, compiled_errors
from rocketns.protocol.body.route import TopicQueueMappingInfo
from rocketns.protocol.bounds import MAPPINGS_MAX
from rocketns.protocol.codes import METADATA_SCOPE_GLOBAL
from rocketns.protocol.json import fastjson


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
    return TopicQueueMappingInfo(
        topic=fastjson.exact_text(fields.get("topic")),
        bname=fastjson.exact_text(fields.get("bname")),
        curr_id_map=None if ids is None else _id_map(ids),
        dirty=fastjson.as_bool(fields.get("dirty")),
        epoch=fastjson.as_long(fields.get("epoch")),
        scope=fastjson.exact_text(fields.get("scope", METADATA_SCOPE_GLOBAL)),
        total_queues=fastjson.as_int(fields.get("totalQueues")),
    )


def _id_map(ids: dict[str, Any]) -> dict[int, int]:
    with compiled_errors():
        return json_beans.id_map(ids, _map_int)


def _map_int(value: Any) -> int:
    if value in (None, "", "null"):
        raise NullRefused("a concurrent map holds no nulls")
    return fastjson.as_int(value)
