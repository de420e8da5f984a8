"""From a line of a journal to a record: a dict with the keys of `rocketns.journal.record.COLUMNS`.

A line is a record if it is a JSON object with the keys of NUMBERED and a kind, ``ev``, of any type. Any other line is
left out. Spark has the same rules for whole runs of the audit; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from rocketns.journal.record import COLUMNS

Record = dict[str, Any]
# Gives the value of a column as its type has it. ValueError if it has another type, or is out of range.
Column = Callable[[Any], Any]

NUMBERED = ("boot", "seq", "ts")
LONG_MAX, INT_MAX = 2**63 - 1, 2**31 - 1


def record_of(line: bytes, loads: Callable[[bytes], Any] = orjson.loads) -> Record | None:
    """The record of a line, or None. Only the numbers have their types; `typed` is for other columns."""
    try:
        record = loads(line)
        if not isinstance(record, dict) or record.get("ev") is None:
            return None
        for name in NUMBERED:
            long_of(record.get(name))
    except (ValueError, RecursionError):
        return None
    return record


def records_of(data: bytes, ns: str, dt: str) -> Iterator[Record]:
    """The records of whole lines whose columns all have their types, with name server and day of the file's folder."""
    for line in data.split(b"\n"):
        record = record_of(line)
        try:
            if record is not None:
                yield typed(record) | {"ns": ns, "dt": dt}
        except ValueError:
            continue


def typed(record: Record) -> Record:
    """The record with the values of its columns. ValueError if one has another type."""
    return {
        name: value if value is None or name not in _COLUMNS else _COLUMNS[name](value)
        for name, value in record.items()
    }


def _column(kind: str) -> Column:
    """``kind``: a type as in COLUMNS, such as array<struct<t:string,r:int>>."""
    if kind.startswith("array<"):
        return _array(_column(kind[6:-1]))
    if kind.startswith("struct<"):
        return _struct({name: _column(of) for name, _, of in (field.partition(":") for field in kind[7:-1].split(","))})
    return {"long": long_of, "int": int_of, "string": _text, "boolean": _boolean}[kind]


def long_of(value: Any) -> int:
    """A whole number of 64 bits. ValueError for any other value."""
    if type(value) is not int or not -LONG_MAX - 1 <= value <= LONG_MAX:
        raise ValueError("no long")
    return value


def int_of(value: Any) -> int:
    """A whole number of 32 bits. ValueError for any other value."""
    if type(value) is not int or not -INT_MAX - 1 <= value <= INT_MAX:
        raise ValueError("no int")
    return value


def _text(value: Any) -> str:
    """Another value is taken as its JSON text."""
    try:
        return value if type(value) is str else orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:  # it is too deep
        raise ValueError("no text") from error


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("no boolean")
    return value


def _array(item: Column) -> Column:
    def array(value: Any) -> list[Any]:
        if type(value) is not list:
            raise ValueError("no array")
        return [None if one is None else item(one) for one in value]

    return array


def _struct(fields: dict[str, Column]) -> Column:
    def struct(value: Any) -> Record:
        if type(value) is not dict:
            raise ValueError("no object")
        return {name: fields[name](one) for name, one in value.items() if one is not None and name in fields}

    return struct


_COLUMNS = {name: _column(kind) for name, kind in COLUMNS.items()}
