"""What a broker registers: RegisterBrokerBody in all its forms, and how a repeated one is recognised.

Brokers send JSON, of which the form without escapes is read by a compiled parser; or, compressed, blocks of the
version, the topics and the filter servers. From 5.0 on a section of static topics follows them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from isal import isal_zlib

from rocketns._fast.codec import json_passes, registration
from rocketns._fast.codec.registration import RegisteredTopics as RegisteredTopics
from rocketns.errors import BodyDecodeError, NullRefused
from rocketns.protocol.body.decoding import (
    check_count,
    data_version_from_json,
    java_errors,
    mapping_info_from_json,
    mapping_infos_from_json,
)
from rocketns.protocol.body.route import DataVersion, TopicConfig, TopicQueueMappingInfo, TopicTable, queue_data
from rocketns.protocol.bounds import (
    BLOCKS_MAX,
    CONVERTED_VALUES_MAX,
    FILTER_SERVERS_MAX,
    INFLATED_BYTES_MAX,
    INFLATED_RATIO_MAX,
    Allowance,
)
from rocketns.protocol.codes import PERM_READ, PERM_WRITE, V5_0_0
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.lenient import NumberText
from rocketns.protocol.names import CHARACTER_BYTES_MAX, check_name, check_repeated

DEFAULT_QUEUE_NUMS = 16  # TopicConfig.defaultReadQueueNums, defaultWriteQueueNums
DEFAULT_PERM = PERM_READ | PERM_WRITE
NO_VERSION = DataVersion(0, 0, 0)
REGISTER_IN_PARTS = "let the broker send fewer topics at once (enableSplitRegistration=true, splitRegistrationSize)"
INFLATED_AT_FIRST_BYTES = 64 * 1024
_ZLIB_MAGIC = b"\x78"
HEAD_BYTES_MAX = 1024  # brokers write their version, and the stamp behind it, within the first 250 bytes
# The digits of mappingDataVersion.timestamp, where everything before them is as brokers write it.
_STAMP = re.compile(
    rb'\{(?:"filterServerList":\[(?:"[^"\\]*",?)*\],)?"topicConfigSerializeWrapper":\{(?:"dataVersion":\{[^{}]*\},)?'
    rb'"mappingDataVersion":\{(?:"[A-Za-z]+":[0-9]+,)*?"timestamp":([1-9][0-9]{12})[,}]'
)


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


Body = bytes | memoryview


def read_compact(data: Body, known: RegisteredTopics | None = None) -> RegisterBrokerBody | None:
    """The body in plain JSON; None where the parser declines it, valid or not.

    Topics that ``known`` knows unchanged are counted in `TopicTable.topics` and left out of the table.
    """
    parsed = registration.parse_json(data, queue_data, known)
    if parsed is None:
        return None
    version, queues, renamed, filters, unchanged, infos = parsed
    try:  # only standard JSON: the lenient parser has to see the whole body
        static_topics = {} if infos is None else mapping_infos_from_json(fastjson.loads_standard(infos))
    except BodyDecodeError:
        return None
    table = TopicTable(queues, renamed, unchanged)
    return RegisterBrokerBody(TopicConfigWrapper(DataVersion(*version), table, static_topics), [*filters])


def decode_register_broker_body(
    body: Body | None, *, compressed: bool, version: int, now_ms: int,
    known: Callable[[], RegisteredTopics] | None = None,
) -> RegisterBrokerBody:  # fmt: skip
    """The body's value, without the topics that are known unchanged: ``known`` makes what knows them, for one reading.
    ``now_ms`` (epoch) stands in for the timestamp of a version without one.

    `decode_plain` and `decode_blocks` define the value. The remark of an error is the class of result that Java gives.
    """
    if body is None:
        return RegisterBrokerBody(TopicConfigWrapper(NO_VERSION), [])
    mappings = version >= V5_0_0
    try:
        # 5.x brokers with compressedRegister=true deflate the body, and their flag is always false. No JSON begins as a
        # zlib stream does. Java refuses such bodies, so these brokers can never register with it.
        if compressed or (mappings and body[:1] == _ZLIB_MAGIC):
            return decode_blocks(inflate(body, mappings), mappings, now_ms, known and known())
        read = read_compact(body, known and known())
        if read is None and (compact := json_passes.compact(body)) is not None:  # the parser takes no blanks
            read = read_compact(compact, known and known())
        return decode_plain(bytes(body), now_ms) if read is None else read
    except fastjson.TooManyValues as error:
        raise refusal(BodyDecodeError(f"{error.remark}: {REGISTER_IN_PARTS}")) from error
    except BodyDecodeError as error:
        raise refusal(error) from error


def refusal(error: BodyDecodeError) -> BodyDecodeError:
    """The error with Java's answer."""
    return BodyDecodeError(
        "org.apache.rocketmq.remoting.exception.RemotingCommandException: "
        f"Failed to decode RegisterBrokerBody, {error.remark}"
    )


def inflate(body: bytes | memoryview, mappings: bool) -> bytearray:
    """The inflated blocks. Like Java, it inflates nothing that follows the last block.

    isal is tried first, because it is faster. Where it fails, zlib decides, and its message is passed on.
    """
    try:
        return _inflate_by(isal_zlib.decompressobj(), body, mappings)
    except isal_zlib.error:  # type: ignore[misc]  # isal's stub takes the class for an instance
        pass
    try:
        return _inflate_by(zlib.decompressobj(), body, mappings)
    except zlib.error as error:
        raise BodyDecodeError(str(error)) from error


def _inflate_by(inflater: Any, body: bytes | memoryview, mappings: bool) -> bytearray:
    data, bytes_max = bytearray(), min(INFLATED_BYTES_MAX, INFLATED_RATIO_MAX * len(body))
    rest, most = body, max(INFLATED_AT_FIRST_BYTES, len(body))
    while True:
        more = inflater.decompress(rest, min(most, bytes_max - len(data)))
        data += more
        rest = inflater.unconsumed_tail
        if inflater.eof or not (more or rest) or not registration.needs_more(data, mappings):
            return data
        if len(data) >= bytes_max:
            raise BodyDecodeError(f"inflates to more than {bytes_max} bytes")
        most = len(data)


def decode_plain(body: bytes, now_ms: int) -> RegisterBrokerBody:
    """RegisterBrokerBody from JSON. ``now_ms`` (epoch) stands in for the timestamp of a version without one."""
    return fastjson.read(body, lambda value: _register_broker_body(value, now_ms))


def _register_broker_body(value: Any, now_ms: int) -> RegisterBrokerBody:
    fields = fastjson.as_object(value)
    if fields is None:
        raise BodyDecodeError("the body is null")
    wrapper = (
        wrapper_from_json(fields["topicConfigSerializeWrapper"], now_ms)
        if "topicConfigSerializeWrapper" in fields
        else TopicConfigWrapper(DataVersion(0, now_ms, 0))
    )
    return RegisterBrokerBody(wrapper, filter_servers_from_json(fields.get("filterServerList", [])))


def filter_servers_from_json(value: Any) -> list[str | None] | None:
    """A list of strings. A text counts as a list of one; None for anything else."""
    if isinstance(value, str) and not isinstance(value, NumberText):
        return [value] if value else []
    if isinstance(value, list):
        check_count(value, FILTER_SERVERS_MAX, "filter servers")
        return [fastjson.exact_text(item) for item in value]
    return None


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
    if table is not None and len(table) > CONVERTED_VALUES_MAX:
        raise fastjson.TooManyValues(
            f"more than {BLOCKS_MAX} topics, or more than {CONVERTED_VALUES_MAX} not written as brokers write them"
        )
    mappings = fastjson.as_object(fields.get("topicQueueMappingInfoMap", {}))
    return TopicConfigWrapper(
        data_version_from_json(fields.get("dataVersion", {}), now_ms),
        None if table is None else TopicTable.of((key, _topic_config(topic)) for key, topic in table.items()),
        mapping_infos_from_json(mappings),
    )


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


def decode_blocks(
    data: bytes | bytearray | memoryview, mappings: bool, now_ms: int, known: RegisteredTopics | None = None
) -> RegisterBrokerBody:
    """``mappings``: the section of static topics must be there. ``now_ms`` as in `decode_plain`, ``known`` as in
    `read_compact`.
    """
    try:
        blocks = registration.read_blocks(data, mappings, queue_data, known)
    except ValueError as error:
        raise BodyDecodeError(str(error)) from error
    if blocks is None:
        return decode_blocks(data, mappings, now_ms)
    stamp, queues, unchanged, filters, infos = blocks
    allowance = Allowance()
    wrapper = TopicConfigWrapper(
        data_version_from_json(fastjson.loads(stamp, allowance=allowance), now_ms) if stamp else None,
        TopicTable(queues, {}, unchanged),
        dict(_mapping_info(info, allowance) for info in infos),
    )
    return RegisterBrokerBody(wrapper, _filter_servers(filters, allowance))


def _mapping_info(data: bytes, allowance: Allowance) -> tuple[str, TopicQueueMappingInfo]:
    def present(value: Any) -> TopicQueueMappingInfo | None:
        fields = fastjson.as_object(value)
        return None if fields is None else mapping_info_from_json(fields)

    info = fastjson.read(data, present, allowance=allowance)
    if info is None or info.topic is None:
        raise BodyDecodeError("a static-topic mapping names no topic")
    return info.topic, info


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


def check_registration(body: RegisterBrokerBody, repeated: Iterable[str | None], most: int) -> None:
    """NameTooLong for a name of more than ``most`` bytes, BodyDecodeError where names would be repeated too often.

    ``repeated`` are the names of the header that routes and records repeat for each topic.
    """
    for server in body.filter_server_list or ():
        check_name(server, most, "a filter server")
    wrapper = body.topic_config_wrapper
    if wrapper is None:
        return
    mappings, table = wrapper.topic_queue_mapping_info_map or {}, wrapper.topic_config_table
    for topic, info in mappings.items():
        for text in (topic, info.topic, info.bname, info.scope):
            check_name(text, most, "a text of a static-topic mapping")
    if table is not None:
        may_be_long = json_passes.longest(table.queues) * CHARACTER_BYTES_MAX > most
        for name in (*(table.queues if may_be_long else ()), *table.renamed.values()):
            check_name(name, most, "a topic")
    check_repeated(repeated, len(mappings) + (0 if table is None else table.topics))


@dataclass(slots=True, frozen=True)
class BodyFingerprint:
    """Equal for registrations whose bodies are decoded alike.

    ``head`` has what lies before the stamp, byte by byte: also the data version, which a broker raises with each change
    of its topics. What follows is compared by its CRC: who forges one hides a change of his own broker. The stamp is
    left out: it is the time at which a 5.x broker wrote the body, and no decoder reads it. ``crc32`` is UtilAll.crc32
    of the whole body, of which the top bit is cut off.
    """

    length: int
    head: bytes
    rest_crc32: int
    compressed: bool
    version: int
    crc32: int = field(compare=False)

    @classmethod
    def of(cls, body: Body, *, compressed: bool, version: int) -> BodyFingerprint:
        stamp = _STAMP.match(body, 0, HEAD_BYTES_MAX)
        start, end = stamp.span(1) if stamp else [min(len(body), HEAD_BYTES_MAX)] * 2
        rest_crc32 = isal_zlib.crc32(memoryview(body)[end:])
        crc32 = isal_zlib.crc32_combine(isal_zlib.crc32(body[:end]), rest_crc32, len(body) - end)
        return cls(len(body), bytes(body[:start]), rest_crc32, compressed, version, crc32 & 0x7FFFFFFF)
