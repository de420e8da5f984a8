"""Records as bytes: what stands between a record's ``ts`` and the end of its line. orjson escapes all text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from rocketns.journal.record import TOPIC_CHARS_IN_RECORD_MAX, TOPICS_IN_RECORD_MAX
from rocketns.protocol.route import DataVersion, QueueData

TopicEntry = tuple[str, QueueData | None]


def columns(event: str, given: dict[str, Any]) -> bytes:
    """``"ev":…`` and the columns that are not None, with the closing brace."""
    return dumps({"ev": event} | {name: value for name, value in given.items() if value is not None})[1:]


def dumps(value: Any) -> bytes:
    """JSON; text with lone surrogates, which JSON cannot hold, gets their escapes as plain characters."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(_repaired(value))


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _repaired(item) for key, item in value.items()}
    return [_repaired(item) for item in value] if isinstance(value, list) else value


def version_columns(version: DataVersion | None) -> dict[str, Any]:
    """dvt, dvc, dvs."""
    if version is None:
        return {}
    return {"dvt": version.timestamp, "dvc": version.counter, "dvs": version.state_version}


def topic_lists(topics: Sequence[TopicEntry]) -> Iterator[list[dict[str, Any]]]:
    """The column ``topics`` for as many records as the bounds want; without queue data only names are written."""
    for start in range(0, len(topics), TOPICS_IN_RECORD_MAX):
        for part in _narrowed(topics[start : start + TOPICS_IN_RECORD_MAX]):
            yield [_topic(name, queues) for name, queues in part]


def _narrowed(topics: Sequence[TopicEntry]) -> Iterator[Sequence[TopicEntry]]:
    if len(topics) == 1 or sum(len(name) for name, _ in topics) <= TOPIC_CHARS_IN_RECORD_MAX:
        yield topics
        return
    half = len(topics) // 2
    yield from _narrowed(topics[:half])
    yield from _narrowed(topics[half:])


def _topic(name: str, queues: QueueData | None) -> dict[str, Any]:
    if queues is None:
        return {"t": name}
    return {"t": name, "r": queues[0], "w": queues[1], "p": queues[2], "s": queues[3]}
