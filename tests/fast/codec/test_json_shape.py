"""Scans of JSON text: the count of values is an upper bound, and only numeric keys get quotes."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.codec.json_shape import count_values, quote_numeric_keys
from tests.protocol.strategies import any_bytes, json_texts, json_values

NUMERIC_KEY = re.compile(rb"([{,]\s*)(-?\d+)(\s*:)")
MOST = 1 << 30


def objects_in(value: Any) -> int:
    """The number of values: list items count once, members twice."""
    if isinstance(value, dict):
        return sum(2 + objects_in(item) for item in value.values())
    return sum(1 + objects_in(item) for item in value) if isinstance(value, list) else 0


@given(json_texts())
def test_no_more_values_than_are_counted(text: bytes) -> None:
    assert objects_in(orjson.loads(text)) <= count_values(text, MOST)


@given(json_texts())
def test_marks_in_strings_do_not_count_where_it_matters(text: bytes) -> None:
    outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", text)
    marks = sum(outside.count(mark) for mark in (b",", b":", b"[", b"{"))
    assert count_values(text, marks) == marks
    if marks:
        assert count_values(text, marks - 1) == marks


@pytest.mark.parametrize("text", [b"", b'"' + b"," * 100 + b'"', b'"\\"' + b"," * 100, b'"' * 3 + b"[" * 3])
def test_a_count_ends_with_its_bytes(text: bytes) -> None:
    assert count_values(text, 2) == 0


@given(any_bytes)
def test_any_bytes_are_counted(text: bytes) -> None:
    assert 0 <= count_values(text, 3) <= 4


def unquoted(value: Any) -> bytes:
    """JSON text whose whole-number keys have no quotes."""
    return re.sub(rb'(?<=[{,])"(-?\d+)"(?=:)', rb"\1", json.dumps(value, separators=(",", ":")).encode())


@given(st.dictionaries(st.integers().map(str), json_values, max_size=3))
def test_numeric_keys_get_quotes(members: dict[str, Any]) -> None:
    text = unquoted({"a": members})
    quoted = quote_numeric_keys(text)
    if quoted is not None:
        assert orjson.loads(quoted) == orjson.loads(json.dumps({"a": members}))
    else:
        assert not members


@given(any_bytes)
def test_the_twin_quotes_numeric_keys_like_the_pattern(text: bytes) -> None:
    try:
        expected = orjson.loads(NUMERIC_KEY.sub(rb'\1"\2"\3', text))
    except ValueError:
        return
    assert orjson.loads(quote_numeric_keys(text) or text) == expected


def test_strings_stay_as_they_are() -> None:
    assert quote_numeric_keys(b'{"a":"{5:1,6:2}"}') is None
    assert quote_numeric_keys(b'{5:"{6:",7 : 1,-8:2}') == b'{"5":"{6:","7" : 1,"-8":2}'
