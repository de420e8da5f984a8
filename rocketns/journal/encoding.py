"""Encodes records: the bytes between a record's ``ts`` and the end of its line. orjson escapes all text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import orjson

from rocketns.journal.record import MAPPINGS_IN_RECORD_MAX, TOPIC_CHARS_IN_RECORD_MAX, TOPICS_IN_RECORD_MAX
from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo
from rocketns.routeinfo.doubt import Doubt

BACKSLASH = "\\u005c"
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


def columns(event: str, given: dict[str, Any]) -> bytes:
    """``"ev":…`` and the columns that are not None, with the closing brace."""
    record = {"ev": event} | {name: value for name, value in given.items() if value is not None}
    try:
        return orjson.dumps(record)[1:]
    except orjson.JSONEncodeError:
        return orjson.dumps({name: _escaped(value) for name, value in record.items()} | {"escaped": True})[1:]


def tail(numbers: dict[str, int | None]) -> bytes:
    """Those that are not None, as the end of a record."""
    present = {name: number for name, number in numbers.items() if number is not None}
    return b"," + orjson.dumps(present)[1:] if present else b"}"


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
    """Of a record that is ``escaped``: all of its texts as they were."""
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


def mapping_lists(mappings: Sequence[tuple[str, TopicQueueMappingInfo]]) -> Iterator[list[dict[str, Any]]]:
    """The column ``maps``, split into as many records as needed."""
    for start in range(0, len(mappings), MAPPINGS_IN_RECORD_MAX):
        yield [_mapping(topic, info) for topic, info in mappings[start : start + MAPPINGS_IN_RECORD_MAX]]


def _mapping(topic: str, info: TopicQueueMappingInfo) -> dict[str, Any]:
    ids = None if info.curr_id_map is None else [list(pair) for pair in info.curr_id_map.items()]
    columns = {"t": topic, "n": info.topic, "b": info.bname, "ids": ids, "e": info.epoch, "q": info.total_queues,
               "d": info.dirty, "sc": info.scope}  # fmt: skip
    return {name: value for name, value in columns.items() if value is not None}


Topics = orjson.Fragment | list[dict[str, Any]]


def topic_lists(names: Sequence[str], queues: Sequence[QueueData] | None) -> Iterator[Topics]:
    """The column ``topics``, split into as many records as the bounds require. Without queue data it has only names."""
    for start, end in _bounds(names):
        yield _topic_list(names[start:end], None if queues is None else queues[start:end])


def _bounds(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start in range(0, len(names), TOPICS_IN_RECORD_MAX):
        yield from _narrowed(names, start, min(start + TOPICS_IN_RECORD_MAX, len(names)))


def _narrowed(names: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start == 1 or sum(map(len, names[start:end])) <= TOPIC_CHARS_IN_RECORD_MAX:
        yield start, end
        return
    middle = (start + end) // 2
    yield from _narrowed(names, start, middle)
    yield from _narrowed(names, middle, end)


def _topic_list(names: Sequence[str], queues: Sequence[QueueData] | None) -> Topics:
    """Costs a quarter of a dict for each topic: a registration may have 10,000."""
    try:
        texts = _texts(names)
    except orjson.JSONEncodeError:
        return _topic_dicts(names, queues)
    if queues is not None:
        texts = [text + _queue_columns(data) for text, data in zip(texts, queues, strict=True)]
    end = b'"}' if queues is None else b"}"
    return orjson.Fragment(b'[{"t":"' + (end + b',{"t":"').join(texts) + end + b"]")


def _topic_dicts(names: Sequence[str], queues: Sequence[QueueData] | None) -> list[dict[str, Any]]:
    if queues is None:
        return [{"t": name} for name in names]
    return [{"t": name} | dict(zip("rwps", data, strict=True)) for name, data in zip(names, queues, strict=True)]


def _texts(names: Sequence[str]) -> list[bytes]:
    """Each name as JSON without its quotes. If nothing is escaped, no name contains a quote."""
    whole = orjson.dumps(list(names))
    if b"\\" in whole:
        return [orjson.dumps(name)[1:-1] for name in names]
    return whole[2:-2].split(b'","')


@lru_cache(maxsize=4096)
def _queue_columns(queues: QueueData) -> bytes:
    return b'","r":%d,"w":%d,"p":%d,"s":%d' % queues
