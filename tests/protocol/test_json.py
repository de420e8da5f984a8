"""JSON in fastjson2's two ways of writing, and in its many ways of reading."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import LENIENT_BYTES_MAX, Allowance
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.fastjson import (
    JsonSyntaxError,
    TooManyValues,
    as_bool,
    as_int,
    as_long,
    number_text,
)
from rocketns.protocol.json.lenient import NESTING_MAX, NumberText, parse_leniently
from tests.protocol.strategies import (
    INT_MAX,
    INT_MIN,
    JAVA,
    LONG_MAX,
    LONG_MIN,
    REFUSED,
    any_bytes,
    ints,
    json_texts,
    json_values,
    longs,
    texts,
)


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
    with pytest.raises(TooManyValues, match="more than 1 JSON values"):
        fastjson.loads(b"[1,2]", allowance=allowance)


@given(json_values)
def test_a_written_value_is_read_back(value: Any) -> None:
    assert fastjson.loads(fastjson.dumps(value)) == value


@given(st.dictionaries(longs, texts, max_size=4))
def test_numeric_maps_are_sorted_by_number_in_both_modes(members: dict[int, str]) -> None:
    """B090, B091."""
    standard = fastjson.dumps(fastjson.numeric_map(members, standard=True))
    default = fastjson.dumps(fastjson.numeric_map(members, standard=False))
    inner = [(f'"{key}"', str(key), fastjson.dumps(members[key]).decode()) for key in sorted(members)]
    assert standard.decode() == "{" + ",".join(f"{quoted}:{text}" for quoted, _, text in inner) + "}"
    assert default.decode() == "{" + ",".join(f"{bare}:{text}" for _, bare, text in inner) + "}"
    assert fastjson.loads(default) == fastjson.loads(standard) == {str(key): text for key, text in members.items()}


def test_deep_values_do_not_become_text() -> None:
    """Java writes them; here the stack has a limit, and the text is refused instead."""
    text = b"[" * 1020 + b"]" * 1020
    for convert in (fastjson.as_text, fastjson.exact_text):
        with pytest.raises(BodyDecodeError, match="levels"):
            convert(fastjson.loads(text))


@pytest.mark.parametrize("value", [[], "x", 5, 0, True, False, 1.5])
def test_only_objects_null_and_empty_text_are_objects(value: Any) -> None:
    assert fastjson.as_object(None) is fastjson.as_object("") is None
    assert fastjson.as_object({"a": 1}) == {"a": 1}
    with pytest.raises(BodyDecodeError, match="expect"):
        fastjson.as_object(value)


# Numbers and booleans from JSON: a table of what fastjson2 2.0.59 made of each text, as an int and as a long field.

LONG = [("9" * 5000, REFUSED), ("0" * 5000 + "5", 5), ('"' + "9" * 5000 + '"', REFUSED), ('"' + "0" * 5000 + '7"', 7)]


def outcome(convert: Callable[[Any], Any], text: str) -> Any:
    try:
        return convert(fastjson.loads(text.encode()))
    except BodyDecodeError:
        return REFUSED


@pytest.mark.parametrize(
    ("text", "as_an_int", "as_a_long"),
    [*JAVA["numbers"], *((text, value, value) for text, value in LONG)],
    ids=lambda value: str(value)[:30],
)
def test_a_number_field_takes_what_java_takes(text: str, as_an_int: Any, as_a_long: Any) -> None:
    """B014, B020: numbers as text, with fractions, and beyond the range."""
    assert (outcome(as_int, text), outcome(as_long, text)) == (as_an_int, as_a_long)


@pytest.mark.parametrize(("text", "as_an_int", "as_a_long", "java"), JAVA["garbled numbers"])
def test_garbled_numbers_are_refused(text: str, as_an_int: Any, as_a_long: Any, java: str) -> None:
    assert (outcome(as_int, text), outcome(as_long, text)) == (as_an_int, as_a_long), f"Java: {java}"


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["true", "1", "-1", "01", '"1"', '"Y"', '"true"', '"TRUE"', '"tRUE"'], True),
        (["false", "null", '""', "0", "-0", "2", "10", "1.0", "0.5", "1.5", "1e0"], False),
        (['"0"', '"N"', '"false"', '"FALSE"', '"False"'], False),
        (["{}", "[]", '"T"', '"t"', '"F"', '"y"', '"n"', '"2"', '" "', '"yes"'], REFUSED),
    ],
)
def test_a_boolean_field_takes_what_java_takes(texts: list[str], value: Any) -> None:
    assert {text: outcome(as_bool, text) for text in texts} == dict.fromkeys(texts, value)


@pytest.mark.parametrize(("written", "shown"), JAVA["numbers as texts"])
def test_a_number_as_text_is_shown_as_java_shows_it(written: str, shown: str) -> None:
    assert number_text(NumberText(written)) == shown


@given(ints, longs)
def test_every_number_passes_bare_and_quoted(number: int, wide: int) -> None:
    assert as_int(number) == as_int(str(number)) == as_int(NumberText(number)) == number
    assert as_long(wide) == as_long(str(wide)) == as_long(NumberText(wide)) == wide


@given(json_values)
def test_any_value_is_converted_within_its_range_or_refused(value: Any) -> None:
    for convert, low, high in ((as_int, INT_MIN, INT_MAX), (as_long, LONG_MIN, LONG_MAX), (as_bool, False, True)):
        try:
            converted = convert(value)
        except BodyDecodeError:
            continue
        assert low <= converted <= high


# The lenient parser reads valid JSON like orjson, and other text only if fastjson2 accepts it.


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
    assert as_numbers(parse_leniently(text.decode())) == orjson.loads(text)


@given(any_bytes)
def test_raises_nothing_but_value_errors(data: bytes) -> None:
    with suppress(ValueError):
        parse_leniently(data.decode("utf-8", "surrogateescape"))


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
    assert parse_leniently(text) == value


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
        parse_leniently(text)


def test_numeric_keys_only_where_asked_for() -> None:
    """fastjson2 takes them in maps of beans, but not in beans and not in maps of strings."""
    assert parse_leniently('{"a":5}', numeric_keys=False) == {"a": "5"}
    with pytest.raises(ValueError, match="key"):
        parse_leniently('{5:"a"}', numeric_keys=False)


def test_nesting_has_a_limit() -> None:
    deepest = NESTING_MAX
    parse_leniently("[" * deepest + "]" * deepest)
    for text in ("[" * (deepest + 1) + "]" * (deepest + 1), '{"a":' * (deepest + 1), "[" * 100_000):
        with pytest.raises(ValueError, match="levels"):
            parse_leniently(text)
