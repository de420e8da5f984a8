"""JSON in fastjson2's two ways of writing, and in its many ways of reading."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import LENIENT_BYTES_MAX, Allowance
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.fastjson import InexactNumber, JsonSyntaxError
from tests.protocol.strategies import any_bytes, json_texts, json_values, longs, texts


@given(json_texts())
def test_valid_texts_are_read_as_orjson_reads_them(text: bytes) -> None:
    assert fastjson.loads(text) == orjson.loads(text)


@given(any_bytes, st.booleans())
@example(b"9" * 5000, True)
@example(b'"\\ud800"', True)
@example(b'{"a":"{5:"', True)
def test_reading_raises_nothing_but_its_own_error(data: bytes, numeric_keys: bool) -> None:
    for loads in (fastjson.loads, fastjson.loads_lenient):
        with suppress(JsonSyntaxError):
            fastjson.as_text(loads(data, numeric_keys=numeric_keys))
            fastjson.read(data, fastjson.exact_text, numeric_keys=numeric_keys)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a",1:"b"}', {"0": "a", "1": "b"}),
        ('{"x":{ -5 :{7:1}},"y":2}', {"x": {"-5": {"7": 1}}, "y": 2}),
        ('{0:"{5:1}",1:",6:"}', {"0": "{5:1}", "1": ",6:"}),
        ("{'a':{0:1.50}}", {"a": {"0": "1.50"}}),
    ],
)
def test_numeric_keys_need_no_quotes(text: str, value: Any) -> None:
    """B093: what default mode writes, and brokers send."""
    assert fastjson.loads(text.encode()) == value
    with pytest.raises(JsonSyntaxError):
        fastjson.loads(text.encode(), numeric_keys=False)


@given(st.dictionaries(texts, texts, min_size=1, max_size=3))
@example({'",1:"': "{2:"})
def test_a_string_keeps_text_that_looks_like_a_numeric_key(members: dict[str, str]) -> None:
    text = "{5:" + json.dumps(members, ensure_ascii=False) + "}"
    assert fastjson.loads(text.encode()) == {"5": members}


def test_lenient_reading_is_limited_in_bytes() -> None:
    most = LENIENT_BYTES_MAX
    assert fastjson.loads(b"'" + b"a" * (most - 2) + b"'") == "a" * (most - 2)
    with pytest.raises(JsonSyntaxError, match="bytes"):
        fastjson.loads(b"'" + b"a" * (most - 1) + b"'")


def test_texts_share_one_allowance() -> None:
    allowance = Allowance(values=3, lenient_bytes=5)
    assert fastjson.loads(b"'a'", allowance=allowance) == "a"
    with pytest.raises(JsonSyntaxError, match="2 bytes"):
        fastjson.loads(b"'b'", allowance=allowance)
    assert fastjson.loads(b"[1,2]", allowance=allowance) == [1, 2]
    with pytest.raises(JsonSyntaxError, match="more than 1 JSON values"):
        fastjson.loads(b"[1,2]", allowance=allowance)


@given(json_values)
def test_a_written_value_is_read_back(value: Any) -> None:
    assert fastjson.loads(fastjson.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\"\\/<>&'", '"\\"\\\\/<>&\'"'),
        ("\b\t\n\f\r\x00\x1f\v", '"\\b\\t\\n\\f\\r\\u0000\\u001f\\u000b"'),
        ("\x7f\x85\u2028é\U0001f600", '"\x7f\x85\u2028é\U0001f600"'),
        ({"b": [], "a": {}}, '{"b":[],"a":{}}'),
        ({"k": "\ud800x\udfff\ufffd"}, '{"k":"?x?\ufffd"}'),
        (["\ud800", {"\udc00": ["é"]}], '["?",{"?":["é"]}]'),
    ],
)
def test_strings_are_escaped_as_java_does(value: Any, written: str) -> None:
    """B088, B089."""
    assert fastjson.dumps(value) == written.encode()


@given(st.dictionaries(longs, texts, max_size=4))
def test_numeric_maps_are_sorted_by_number_in_both_modes(members: dict[int, str]) -> None:
    """B090, B091."""
    standard = fastjson.dumps(fastjson.numeric_map(members, standard=True))
    default = fastjson.dumps(fastjson.numeric_map(members, standard=False))
    inner = [(f'"{key}"', str(key), fastjson.dumps(members[key]).decode()) for key in sorted(members)]
    assert standard.decode() == "{" + ",".join(f"{quoted}:{text}" for quoted, _, text in inner) + "}"
    assert default.decode() == "{" + ",".join(f"{bare}:{text}" for _, bare, text in inner) + "}"
    assert fastjson.loads(default) == fastjson.loads(standard) == {str(key): text for key, text in members.items()}


@pytest.mark.parametrize(
    ("value", "standard"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, str(2**53)),
        (-(2**53) + 1, -(2**53) + 1),
        (-(2**53), str(-(2**53))),
    ],
)
def test_standard_mode_quotes_longs_a_browser_cannot_hold(value: int, standard: int | str) -> None:
    """B092."""
    assert fastjson.long_value(value, standard=True) == standard
    assert fastjson.long_value(value, standard=False) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("null", None), ('"x"', "x"), ('""', ""), ("true", "true"), ("false", "false"), ("5", "5"), ("-0", "0"),
        ("1.50", "1.50"), ("1e5", "100000.0"), ("12345678901234567890123", "12345678901234567890123"),
        ("[]", "[]"), ("{}", "{}"), ("[1, 2]", "[1,2]"), ('[1.50,"x",null,{}]', '[1.50,"x",null,{}]'),
        ('{"a": 1}', '{"a":1}'), ('{"b":1.50,"c":1e5}', '{"b":1.50,"c":100000.0}'), ('{"b":null}', "{}"),
        ('{"b":"\\ud800"}', '{"b":"?"}'), ('{"b":"\\u0001<"}', '{"b":"\\u0001<"}'), ("{'b':'x'}", '{"b":"x"}'),
        ('{"z":1,"b":2}', '{"z":1,"b":2}'), ("[" * 100 + "]" * 100, "[" * 100 + "]" * 100),
    ],
)  # fmt: skip
def test_any_value_becomes_text_as_in_java(text: str, shown: str | None) -> None:
    """B017: extFields, topic names and filter servers take any JSON value."""
    assert fastjson.read(text.encode(), fastjson.exact_text) == shown


def test_text_of_a_number_asks_for_the_number_as_written() -> None:
    for value in (1.5, [1.5], {"a": [{"b": 1.5}]}):
        assert fastjson.as_text(value) is not None
        with pytest.raises(InexactNumber):
            fastjson.exact_text(value)


@pytest.mark.parametrize("depth", [200, 500, 1020])
def test_deep_values_do_not_become_text(depth: int) -> None:
    """Java writes them; here the stack has a limit, and the text is refused instead."""
    text = b"[" * depth + b"]" * depth
    for convert in (fastjson.as_text, fastjson.exact_text):
        with pytest.raises(BodyDecodeError, match="levels"):
            convert(fastjson.loads(text))


@pytest.mark.parametrize("value", [[], "x", 5, 0, True, False, 1.5])
def test_only_objects_null_and_empty_text_are_objects(value: Any) -> None:
    assert fastjson.as_object(None) is fastjson.as_object("") is None
    assert fastjson.as_object({"a": 1}) == {"a": 1}
    with pytest.raises(BodyDecodeError, match="expect"):
        fastjson.as_object(value)
