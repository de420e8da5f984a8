"""The bodies of requests: RegisterBrokerBody plain, compressed and from before 3.0.11, DataVersion, and queue data.

Every fault is a BodyDecodeError. ``now_ms`` (epoch) is the class default of DataVersion.timestamp.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from isal import isal_zlib

from rocketns._fast.codec import json_beans, register_body, registration_blocks
from rocketns._fast.codec.fingerprint import fingerprint
from rocketns._fast.routes.routes import RouteSlots
from rocketns.errors import BodyDecodeError, NullRefused
from rocketns.protocol.body.registration.inflating import BLOCK_LIMITS, inflate
from rocketns.protocol.body.route import (
    DataVersion,
    QueueData,
    TopicConfig,
    TopicQueueMappingInfo,
    TopicTable,
    queue_data,
)
from rocketns.protocol.bounds import (
    BLOCKS_MAX,
    FILTER_SERVERS_MAX,
    MAPPINGS_MAX,
    QUEUE_DATAS_MAX,
    Allowance,
)
from rocketns.protocol.codes import METADATA_SCOPE_GLOBAL, PERM_READ, PERM_WRITE, V5_0_0
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.lenient import NumberText

Body = bytes | memoryview
Inflated = Body | bytearray
Slots = RouteSlots  # what the tables hold, as compiled code reads it

DEFAULT_QUEUE_NUMS = 16  # TopicConfig.defaultReadQueueNums, defaultWriteQueueNums
DEFAULT_PERM = PERM_READ | PERM_WRITE

_ZLIB_MAGIC = b"\x78"

NO_VERSION = DataVersion(0, 0, 0)


@dataclass(slots=True)
class TopicConfigWrapper:
    """TopicConfigAndMappingSerializeWrapper. None stands for an explicit JSON null, which is not the same as empty."""

    data_version: DataVersion | None
    topic_config_table: TopicTable | None = field(default_factory=lambda: TopicTable({}, {}))
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] | None = field(default_factory=dict)


@dataclass(slots=True)
class RegisterBrokerBody:
    """``filter_server_list`` None makes no statement about filter servers; an empty list clears them."""

    topic_config_wrapper: TopicConfigWrapper | None
    filter_server_list: list[str | None] | None


def decode_data_version(body: bytes | None, now_ms: int) -> DataVersion | None:
    """DataVersion.decode: None for no body and for ``null``."""
    with _java_errors():
        return _data_version(fastjson.loads(body), now_ms) if body else None


class Known(NamedTuple):
    """The topics that a broker is known to have: decoding may leave them out of the table and only count them."""

    slots: Slots
    broker_name: str


def body_fingerprint(body: Body | None, *, compressed: bool, version: int) -> Hashable:
    """Equal for registrations whose bodies are decoded alike; None where there is no body.

    A keyed hash of 64 bits, a tenth of the cost of a digest. It leaves out the time at which a 5.x broker wrote the
    body, which differs each time and is not decoded (see fingerprint.pyx).
    """
    return None if body is None else (len(body), fingerprint(body), compressed, version)


def body_crc32(body: Body | None) -> int:
    """UtilAll.crc32: the top bit is cut off."""
    return int(isal_zlib.crc32(body or b"")) & 0x7FFFFFFF


def decode_register_broker_body(
    body: Body | None, *, compressed: bool, version: int, now_ms: int, known: Known | None = None
) -> RegisterBrokerBody:
    """What a broker from 3.0.11 sends. The remark of an error is the class of result that Java gives."""
    if body is None:
        return RegisterBrokerBody(TopicConfigWrapper(NO_VERSION), [])
    compressed = compressed or _is_deflated(body, version)
    with _decode_errors():
        data = inflate(body, version >= V5_0_0) if compressed else body
        taken = _decode_fast(data, compressed, version >= V5_0_0, known)
        return _decode_data(data, compressed, version, now_ms) if taken is None else taken


def decode_register_broker_body_reference(
    body: Body | None, *, compressed: bool, version: int, now_ms: int
) -> RegisterBrokerBody:
    """The same without the compiled twin, which only takes what brokers usually write."""
    if body is None:
        return RegisterBrokerBody(TopicConfigWrapper(NO_VERSION), [])
    compressed = compressed or _is_deflated(body, version)
    with _decode_errors():
        data = inflate(body, version >= V5_0_0) if compressed else body
        return _decode_data(data, compressed, version, now_ms)


def _decode_data(data: Inflated, compressed: bool, version: int, now_ms: int) -> RegisterBrokerBody:
    return _decode_blocks(data, version, now_ms) if compressed else _decode_plain(bytes(data), now_ms)


@contextmanager
def _java_errors() -> Iterator[None]:
    """Where Java names the class of what it throws."""
    try:
        yield
    except BodyDecodeError as error:
        raise BodyDecodeError(f"{error.java_class}: {error.remark}") from error


@contextmanager
def _decode_errors() -> Iterator[None]:
    try:
        yield
    except BodyDecodeError as error:
        raise BodyDecodeError(
            "org.apache.rocketmq.remoting.exception.RemotingCommandException: "
            f"Failed to decode RegisterBrokerBody, {error.remark}"
        ) from error


def _is_deflated(body: Body, version: int) -> bool:
    """Whether a body that is said to be plain is a zlib stream, whose first byte begins no JSON.

    5.x brokers with compressedRegister=true send such: they deflate the body, and their flag is hard-wired to false.
    Java refuses them, so that they can never register.
    """
    return version >= V5_0_0 and body[:1] == _ZLIB_MAGIC


def _decode_fast(data: Inflated, compressed: bool, mappings: bool, known: Known | None) -> RegisterBrokerBody | None:
    """What the compiled twin makes of it, None where it declines."""
    slots, broker_name = known or (None, None)
    if compressed:
        parsed = register_body.parse_compressed(data, mappings, queue_data, slots, broker_name)
    else:
        parsed = register_body.parse_json(data, queue_data, slots, broker_name)
    if parsed is None:
        return None
    version, queues, renamed, filters, left_out = parsed
    table = TopicTable(queues, renamed, left_out)
    return RegisterBrokerBody(TopicConfigWrapper(DataVersion(*version), table), [*filters])


def decode_topic_config_wrapper(body: bytes | None, now_ms: int) -> TopicConfigWrapper | None:
    """What a broker from before 3.0.11 sends: the bare wrapper; None for the text ``null``."""
    if body is None:
        return TopicConfigWrapper(NO_VERSION)
    with _java_errors():
        wrapper = fastjson.read(body, lambda value: _wrapper(value, now_ms))
    if wrapper is not None:
        wrapper.topic_queue_mapping_info_map = {}  # TopicConfigSerializeWrapper does not know static topics
    return wrapper


def decode_queue_datas(body: bytes | None) -> list[tuple[str | None, QueueData]]:
    """The queueDatas of a TopicRouteData; empty where there are none. A null among them names no broker."""
    with _java_errors():
        return [] if body is None else fastjson.read(body, _queue_datas)


def _queue_datas(value: Any) -> list[tuple[str | None, QueueData]]:
    items = (fastjson.as_object(value) or {}).get("queueDatas")
    if items is None or items == "":
        return []
    listed = items if isinstance(items, list) else [items]
    _check_count(listed, QUEUE_DATAS_MAX, "brokers of a topic")
    return [_named_queue_data(fastjson.as_object(item)) for item in listed]


def _named_queue_data(fields: dict[str, Any] | None) -> tuple[str | None, QueueData]:
    if fields is None:
        return None, queue_data(0, 0, 0, 0)
    return fastjson.exact_text(fields.get("brokerName")), decode_queue_data(fields)


def decode_queue_data(fields: dict[str, Any]) -> QueueData:
    """QueueData from its JSON object; missing numbers are 0."""
    keys = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
    return queue_data(*(fastjson.as_int(fields.get(key)) for key in keys))


def _decode_plain(body: bytes, now_ms: int) -> RegisterBrokerBody:
    return fastjson.read(body, lambda value: _register_broker_body(value, now_ms))


def _register_broker_body(value: Any, now_ms: int) -> RegisterBrokerBody:
    fields = fastjson.as_object(value)
    if fields is None:
        raise BodyDecodeError("the body is null")
    wrapper = (
        _wrapper(fields["topicConfigSerializeWrapper"], now_ms)
        if "topicConfigSerializeWrapper" in fields
        else TopicConfigWrapper(DataVersion(0, now_ms, 0))
    )
    return RegisterBrokerBody(wrapper, _filter_servers(fields.get("filterServerList", [])))


def _filter_servers(value: Any) -> list[str | None] | None:
    """A list of strings: text stands for itself, and what is neither for null."""
    if isinstance(value, str) and not isinstance(value, NumberText):
        return [value] if value else []
    if isinstance(value, list):
        _check_count(value, FILTER_SERVERS_MAX, "filter servers")
        return [fastjson.exact_text(item) for item in value]
    return None


def _check_count(values: Sized, most: int, of_what: str) -> None:
    if len(values) > most:
        raise BodyDecodeError(f"more than {most} {of_what}")


def _wrapper(value: Any, now_ms: int) -> TopicConfigWrapper | None:
    fields = fastjson.as_object(value)
    if fields is None:
        return None
    table = fastjson.as_object(fields.get("topicConfigTable", {}))
    mappings = fastjson.as_object(fields.get("topicQueueMappingInfoMap", {}))
    return TopicConfigWrapper(
        _data_version(fields.get("dataVersion", {}), now_ms),
        None if table is None else _topic_table(table),
        None if mappings is None else _mapping_infos(mappings),
    )


def _data_version(value: Any, now_ms: int) -> DataVersion | None:
    fields = fastjson.as_object(value)
    if fields is None:
        return None
    counter = fields.get("counter", 0)
    return DataVersion(
        fastjson.as_long(fields.get("stateVersion")),
        fastjson.as_long(fields["timestamp"]) if "timestamp" in fields else now_ms,
        None if counter is None else fastjson.as_long(counter),
    )


def _topic_table(table: dict[str, Any]) -> TopicTable:
    _check_count(table, BLOCKS_MAX, "topics")
    with _too_many():
        queues, renamed = json_beans.topic_tables(table, queue_data, _topic_config, DEFAULT_QUEUE_NUMS, DEFAULT_PERM)
    return TopicTable(queues, renamed)


@contextmanager
def _too_many() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise BodyDecodeError(str(error)) from error


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


def _mapping_infos(mappings: dict[str, Any]) -> dict[str, TopicQueueMappingInfo]:
    _check_count(mappings, MAPPINGS_MAX, "static topics")
    present = {key: fastjson.as_object(value) for key, value in mappings.items()}
    return {key: decode_mapping_info(fields) for key, fields in present.items() if fields is not None}


def decode_mapping_info(fields: dict[str, Any]) -> TopicQueueMappingInfo:
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
    with _too_many():
        return json_beans.id_map(ids, _map_int)


def _map_int(value: Any) -> int:
    if value in (None, "", "null"):
        raise NullRefused("a concurrent map holds no nulls")
    return fastjson.as_int(value)


def _decode_blocks(data: Inflated, version: int, now_ms: int) -> RegisterBrokerBody:
    try:
        stamp, queues, filters, mappings = registration_blocks.read(data, version >= V5_0_0, BLOCK_LIMITS, queue_data)
    except ValueError as error:
        raise BodyDecodeError(str(error)) from error
    allowance = Allowance()
    wrapper = TopicConfigWrapper(
        _data_version(fastjson.loads(stamp, allowance=allowance), now_ms) if stamp else None,
        TopicTable(queues, {}),
        dict(_compressed_mapping(mapping, allowance) for mapping in mappings),
    )
    return RegisterBrokerBody(wrapper, _compressed_filter_servers(filters, allowance))


def _compressed_mapping(data: bytes, allowance: Allowance) -> tuple[str, TopicQueueMappingInfo]:
    info = fastjson.read(data, _present_mapping_info, allowance=allowance)
    if info is None or info.topic is None:
        raise BodyDecodeError("a static-topic mapping names no topic")
    return info.topic, info


def _present_mapping_info(value: Any) -> TopicQueueMappingInfo | None:
    fields = fastjson.as_object(value)
    return None if fields is None else decode_mapping_info(fields)


def _compressed_filter_servers(data: bytes, allowance: Allowance) -> list[str | None] | None:
    try:
        text = data.decode("utf-8", "replace").encode()
        return fastjson.read(text, _parsed_array, allowance=allowance) if data else None
    except BodyDecodeError:
        return []  # Java logs and keeps its empty list


def _parsed_array(value: Any) -> list[str | None] | None:
    """JSON.parseArray of strings: unlike a list in a bean, an object counts as one, and a number is refused."""
    if isinstance(value, dict):
        return [fastjson.exact_text(value)]
    return None if value is None else _filter_servers(value) or []
