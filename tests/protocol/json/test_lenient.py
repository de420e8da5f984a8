"""The lenient parser reads valid JSON like orjson, and other text only if fastjson2 accepts it."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import example, given

from rocketns.protocol.json import lenient
from rocketns.protocol.json.lenient import NumberText
from tests.protocol.strategies import any_bytes, json_texts


def as_numbers(value: Any) -> Any:
    """The lenient parser's value with every number read, as orjson would."""
    if isinstance(value, NumberText):
        number = float(value) if any(c in ".eE" for c in value) else int(value)
        return number if isinstance(number, float) or -(2**63) <= number < 2**64 else float(number)
    if isinstance(value, dict):
        return {key: as_numbers(item) for key, item in value.items()}
    return [as_numbers(item) for item in value] if isinstance(value, list) else value


@given(json_texts())
@example(b'"\\ud83d\\ude00"')
@example(b'{"\\ud83d\\ude00":"\\ude00\xc3\xa9"}'.replace(b"\\ude00\xc3", b"\xc3"))
@example(b"-0.0")
@example(b"1e5")
@example(b"18446744073709551615")
@example(b"[" * 100 + b"]" * 100)
def test_agrees_with_orjson_on_valid_texts(text: bytes) -> None:
    assert as_numbers(lenient.loads(text.decode())) == orjson.loads(text)


@given(any_bytes)
def test_raises_nothing_but_value_errors(data: bytes) -> None:
    with suppress(ValueError):
        lenient.loads(data.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ("{'a':'b\"c'}", {"a": 'b"c'}),
        ('"a\tb\nc"', "a\tb\nc"),
        (r'"\x41\v\'\/\"\\"', "A\v'/\"\\"),
        (r'"\b\t\n\f\r\F"', "\b\t\n\f\r\f"),
        (r'"\0\1\7"', "\x00\x01\x07"),
        (r'"\ \#\&\(\)\,\.\@\[\]\_\~"', " #&(),.@[]_~"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ude00\ud83d"', "\ude00\ud83d"),
        (r'"\ud83d\ud83d\ude00"', "\ud83d\U0001f600"),
        ('{"a":1,}', {"a": "1"}),
        ('{"a":1 "b":2}', {"a": "1", "b": "2"}),
        ("[1,]", ["1"]),
        ("[ 1 , 2 , ]", ["1", "2"]),
        ('{ "a" : 1 , "b" : [ ] }', {"a": "1", "b": []}),
        ("[05,+5,.5,-.5,5.,-5.e1]", ["05", "+5", ".5", "-.5", "5.", "-5.e1"]),
        ("[5L,5B,5S,5F,5D]", ["5"] * 5),
        ('{5:1,-5:{"a":2}}', {"5": "1", "-5": {"a": "2"}}),
        ('/*x*/{"a"/**/:/*y*/1}// z', {"a": "1"}),
        ('//x\n{"a":1}', {"a": "1"}),
        (' \t\r\n\f\b{"a":[ ]} ', {"a": []}),
        ('{"a":1,"a":null}', {"a": None}),
        ("[true,false,null]", [True, False, None]),
    ],
)
def test_takes_beyond_the_standard(text: str, value: Any) -> None:
    """B093: what fastjson2 2.0.59 takes as well."""
    assert lenient.loads(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", '{"a"', '{"a":', '{"a":1', "[1", '"a', "'a\"", "a", "{a:1}", "nul", "NaN", "Infinity",
        "undefined", "0x10", "-", ".", "++5", "5l", "5LL", "\u0663", '{,"a":1}', '{"a":1,,"b":2}', '{"a" 1}', '{"a":}',
        "[,1]", "[1 2]", "[a]", '{"a":1;}', '{"a":1}x', '{"a":1}{}', '{"a":1}]', '{"a":1} # c', '# c\n{"a":1}',
        "/*", "/*x", "{}/", "{}/*", r'"\q"', r'"\!"', r'"\8"', r'"\u12"', r'"\u"', r'"\x4"', '"\\', r'"\ud83d\u"',
        "{null:1}", "{true:1}", '{"a":tru}', "\ufeff{}", "\x00{}", "{\u00a0}",
    ],
)  # fmt: skip
def test_refuses_what_fastjson2_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="at offset"):
        lenient.loads(text)


def test_numeric_keys_only_where_asked_for() -> None:
    """fastjson2 takes them in maps of beans, but not in beans and not in maps of strings."""
    assert lenient.loads('{"a":5}', numeric_keys=False) == {"a": "5"}
    with pytest.raises(ValueError, match="key"):
        lenient.loads('{5:"a"}', numeric_keys=False)


def test_nesting_has_a_limit() -> None:
    deepest = lenient.NESTING_MAX
    lenient.loads("[" * deepest + "]" * deepest)
    for text in ("[" * (deepest + 1) + "]" * (deepest + 1), '{"a":' * (deepest + 1), "[" * 100_000):
        with pytest.raises(ValueError, match="levels"):
            lenient.loads(text)


def test_numbers_keep_their_text() -> None:
    value = lenient.loads("[1.50]")[0]
    assert isinstance(value, NumberText)
    assert value == "1.50"
    assert math.isclose(float(value), 1.5)
