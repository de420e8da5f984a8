"""From the bytes of a journal file to records: dicts with the keys of ``rocketns.journal.record.COLUMNS``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from rocketns.journal.record import COLUMNS, TOPIC_FIELDS

Record = dict[str, Any]

REQUIRED = ("boot", "seq", "ts", "ev")

_TYPES: dict[str, type] = {"long": int, "int": int, "string": str, "boolean": bool}


def records_of(data: bytes, ns: str, dt: str) -> Iterator[Record]:
    """The records of whole lines, with the name server and the day of the file's folder. A line is left out if it is
    not JSON, has a value of a wrong type, or lacks a required key, as an ingest leaves it out."""
    for line in data.splitlines():
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if is_record(record):
            record.update(ns=ns, dt=dt)
            yield record


def is_record(value: object) -> bool:
    """Whether it has the required keys, and each known key has a value of its type."""
    if not isinstance(value, dict) or any(value.get(name) is None for name in REQUIRED):
        return False
    return _fits(value, COLUMNS) and all(map(_is_topic, value.get("topics") or ()))


def _is_topic(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("t") is not None and _fits(entry, TOPIC_FIELDS)


def _fits(values: Mapping[str, Any], kinds: Mapping[str, str]) -> bool:
    for name, value in values.items():
        kind = kinds.get(name)
        if value is not None and kind is not None and type(value) is not _TYPES.get(kind, list):
            return False
    return True
