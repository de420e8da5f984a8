"""Encodes records: the bytes between a record's ``ts`` and the end of its line. orjson escapes all text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import orjson

from rocketns.journal.record import (
    FILTER_CHARS_IN_RECORD_MAX,
    MAPPINGS_IN_RECORD_MAX,
    NAME_BYTES_IN_RECORD_MAX,
    TOPIC_CHARS_IN_RECORD_MAX,
    TOPICS_IN_RECORD_MAX,
    VALUE_BYTES_IN_RECORD_MAX,
    Ev,
)
from rocketns.logs import ESCAPE_BYTES, shortened
from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo
from rocketns.routeinfo.doubt import Doubt
from rocketns.routeinfo.events import AdminRequested, RequestRefused

BACKSLASH = "\\u005c"
# Bytes of a topic in a record, without its name.
TOPIC_AROUND_BYTES = 60
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


def columns(event: Ev, values: dict[str, Any]) -> bytes:
    """``"ev":…`` and the columns that are not None, with the closing brace."""
    record = {"ev": event} | {name: value for name, value in values.items() if value is not None}
    try:
        return orjson.dumps(record)[1:]
    except orjson.JSONEncodeError:
        return orjson.dumps({name: _escaped(value) for name, value in record.items()} | {"escaped": True})[1:]


def tail(version: DataVersion | None) -> bytes:
    """The end of a record that ends with a data version, as `version_columns` has it."""
    if version is None:
        return b"}"
    counter = b"" if version.counter is None else b',"dvc":%d' % version.counter
    return b',"dvt":%d%b,"dvs":%d}' % (version.timestamp, counter, version.state_version)


def _escaped(value: Any) -> Any:
    """Lone surrogates, which JSON cannot hold, as the characters of their escapes; `unescaped` is the way back."""
    if isinstance(value, str):
        return value.replace("\\", BACKSLASH).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, orjson.Fragment):
        return _escaped(orjson.loads(orjson.dumps(value)))
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def unescaped(value: Any) -> Any:
    """The value with all texts as they were before they were escaped, for a record with ``escaped``."""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, dict):
        return {key: unescaped(item) for key, item in value.items()}
    return [unescaped(item) for item in value] if isinstance(value, list) else value


def version_columns(version: DataVersion | None) -> dict[str, Any]:
    """dvt, dvc, dvs."""
    if version is None:
        return {}
    return {"dvt": version.timestamp, "dvc": version.counter, "dvs": version.state_version}


def doubt_columns(doubt: Doubt | None) -> dict[str, Any]:
    """doubt, seen."""
    return {} if doubt is None else {"doubt": doubt.reason, "seen": doubt.seen_epoch_ms}


def item_columns(namespace: str, key: str, text: str | None) -> dict[str, str | None]:
    """Of a KV item; None for a value that was deleted."""
    return {"ns_key": shortened(namespace, NAME_BYTES_IN_RECORD_MAX)} | property_columns(key, text)


def property_columns(key: str, text: str | None) -> dict[str, str | None]:
    """Of a property; None for a value that is not shown."""
    shown = None if text is None else shortened(text, VALUE_BYTES_IN_RECORD_MAX)
    return {"key": shortened(key, NAME_BYTES_IN_RECORD_MAX), "val": shown}


def filter_servers(servers: Sequence[str | None]) -> list[str | None]:
    """The column ``fs``."""
    ends = accumulate(len(one or "") for one in servers)
    return [one for one, end in zip(servers, ends, strict=True) if end <= FILTER_CHARS_IN_RECORD_MAX]


def mapping_lists(mappings: Sequence[tuple[str, TopicQueueMappingInfo]]) -> Iterator[list[dict[str, Any]]]:
    """The column ``maps``, split into as many records as the bounds require."""
    for start, end in bounds([_characters(*one) for one in mappings], MAPPINGS_IN_RECORD_MAX):
        yield [_mapping(topic, info) for topic, info in mappings[start:end]]


def _characters(topic: str, info: TopicQueueMappingInfo) -> int:
    """About what a mapping takes in a record; an id and its queue count as names of eight characters."""
    texts = (topic, info.topic, info.bname, info.scope)
    return sum(len(text or "") for text in texts) + 8 * len(info.curr_id_map or ())


def _mapping(topic: str, info: TopicQueueMappingInfo) -> dict[str, Any]:
    ids = None if info.curr_id_map is None else [list(pair) for pair in info.curr_id_map.items()]
    columns = {"t": topic, "n": info.topic, "b": info.bname, "ids": ids, "e": info.epoch, "q": info.total_queues,
               "d": info.dirty, "sc": info.scope}  # fmt: skip
    return {name: value for name, value in columns.items() if value is not None}


def request_record(event: AdminRequested | RequestRefused) -> bytes:
    """A record of ``admin`` or ``refused``."""
    common = {"code": event.code, "from_host": event.host, "principal": event.principal,
              "access_key": event.access_key, "n": event.count,
              "fields": [{"k": name, "v": value} for name, value in event.fields] or None}  # fmt: skip
    match event:
        case AdminRequested():
            kind = {"client": event.address, "result": event.result, "before": event.before, "after": event.after}
            return columns("admin", common | kind)
        case RequestRefused():
            kind = {"access": event.access, "reason": event.reason, "enforced": event.is_enforced}
            return columns("refused", common | kind)


TopicsColumn = orjson.Fragment | list[dict[str, Any]]


def bounds(characters: Sequence[int], count_max: int = TOPICS_IN_RECORD_MAX) -> Iterator[tuple[int, int]]:
    """Where the entries of each record begin and end: so many characters each."""
    start = 0
    while start < len(characters):
        end = min(start + count_max, len(characters))
        while end - start > 1 and sum(characters[start:end]) > TOPIC_CHARS_IN_RECORD_MAX:
            end = (start + end) // 2
        yield start, end
        start = end


def topic_list(names: Sequence[str], queues: Sequence[QueueData] | None) -> tuple[TopicsColumn, int]:
    """The column ``topics`` of one record, and about how many bytes it takes. Without queue data it has only names.

    Costs a quarter of a dict for each topic: a registration may have 10,000.
    """
    try:
        whole = orjson.dumps(list(names))
    except orjson.JSONEncodeError:
        numbers = [{} for _ in names] if queues is None else [dict(zip("rwps", data, strict=True)) for data in queues]
        dicts = [{"t": name} | own for name, own in zip(names, numbers, strict=True)]
        return dicts, sum(ESCAPE_BYTES * len(name) + TOPIC_AROUND_BYTES for name in names)
    # Each name as JSON without its quotes. If nothing is escaped, no name contains a quote.
    texts = [orjson.dumps(name)[1:-1] for name in names] if b"\\" in whole else whole[2:-2].split(b'","')
    if queues is not None:
        texts = [text + _queue_columns(data) for text, data in zip(texts, queues, strict=True)]
    end = b'"}' if queues is None else b"}"
    made = b'[{"t":"' + (end + b',{"t":"').join(texts) + end + b"]"
    return orjson.Fragment(made), len(made)


@lru_cache(maxsize=4096)
def _queue_columns(queues: QueueData) -> bytes:
    return b'","r":%d,"w":%d,"p":%d,"s":%d' % queues
