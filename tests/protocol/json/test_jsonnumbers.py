"""Numbers and booleans from JSON: a table of what fastjson2 2.0.59 made of each text, as an int and as a long field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.lenient import NumberText
from rocketns.protocol.json.numbers import as_bool, as_int, as_long, number_text
from tests.protocol.strategies import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, ints, json_values, longs

REFUSED = BodyDecodeError

# JSON text → RemotingCommand.code (int), DataVersion.timestamp (long)
NUMBERS: list[tuple[str, Any, Any]] = [
    ("null", 0, 0),
    ("true", 1, 1),
    ("false", 0, 0),
    ("{}", 0, REFUSED),
    ('{"a":1}', 0, REFUSED),
    ("[]", REFUSED, REFUSED),
    ("[7]", 7, 7),
    ("[7,]", 7, 7),
    ('["7"]', 7, 7),
    ("[1.9]", 1, 1),
    ("[1,2]", REFUSED, REFUSED),
    ("[[7]]", REFUSED, REFUSED),
    ("[null]", REFUSED, REFUSED),
    ("[true]", REFUSED, REFUSED),
    ("[{}]", REFUSED, REFUSED),
    ('["x"]', REFUSED, REFUSED),
    ('[""]', REFUSED, REFUSED),
    ("-0", 0, 0),
    ("05", 5, 5),
    ("-05", -5, -5),
    ("+5", 5, 5),
    (".5", 0, 0),
    ("5.", 5, 5),
    ("5L", 5, 5),
    ("5D", 5, 5),
    ("1.9", 1, 1),
    ("-1.9", -1, -1),
    ("2.0", 2, 2),
    ("1e2", 100, 100),
    ("1E400", INT_MAX, LONG_MAX),
    ("-1E400", INT_MIN, LONG_MIN),
    ("1e-5", 0, 0),
    ("2147483647", INT_MAX, INT_MAX),
    ("2147483648", REFUSED, 2**31),
    ("-2147483648", INT_MIN, INT_MIN),
    ("-2147483649", REFUSED, INT_MIN - 1),
    ("9223372036854775807", REFUSED, LONG_MAX),
    ("9223372036854775808", REFUSED, REFUSED),
    ("-9223372036854775808", REFUSED, LONG_MIN),
    ("99999999999999999999", REFUSED, REFUSED),
    ("9" * 5000, REFUSED, REFUSED),
    ("0" * 5000 + "5", 5, 5),
    ('""', 0, 0),
    ('"null"', 0, 0),
    ('"true"', 1, 1),
    ('"false"', 0, 0),
    ('"True"', REFUSED, REFUSED),
    ('"NULL"', REFUSED, REFUSED),
    ('"7"', 7, 7),
    ('"-05"', -5, -5),
    ('"+05"', 5, 5),
    ('"1.9"', 1, 1),
    ('".5"', 0, 0),
    ('"5."', 5, 5),
    ('"5.e1"', 50, 50),
    ('"1e2"', 100, 100),
    ('"1E2"', 100, 100),
    ('"1e"', 1, 1),
    ('"1e+"', 1, 1),
    ('"+"', 0, 0),
    ('"-"', 0, 0),
    ('"."', REFUSED, REFUSED),
    ('"1e10"', INT_MAX, 10**10),
    ('"1e30"', INT_MAX, LONG_MAX),
    ('"-1e400"', INT_MIN, LONG_MIN),
    ('"2147483648"', REFUSED, 2**31),
    ('"9223372036854775808"', REFUSED, REFUSED),
    ('"' + "9" * 5000 + '"', REFUSED, REFUSED),
    ('"' + "0" * 5000 + '7"', 7, 7),
    ('" 5"', REFUSED, REFUSED),
    ('"5 "', REFUSED, REFUSED),
    ('" "', REFUSED, REFUSED),
    ('"5L"', REFUSED, REFUSED),
    ('"1.5L"', REFUSED, REFUSED),
    ('"a"', REFUSED, REFUSED),
    ('"5a"', REFUSED, REFUSED),
    ('"nul"', REFUSED, REFUSED),
    ('"nullx"', REFUSED, REFUSED),
    ('"++5"', REFUSED, REFUSED),
    ('"+-5"', REFUSED, REFUSED),
    ('"NaN"', REFUSED, REFUSED),
    ('"Infinity"', REFUSED, REFUSED),
]

# JSON text → int, long; what Java makes of it: garbled numbers that nobody sends and that are refused here.
STRICTER = [
    ("1e30", REFUSED, REFUSED, "2147483647, 9223372036854775807"),
    ("2147483648.0", REFUSED, 2**31, "-2147483648, 2147483648"),
    ("18446744073709551616.5", REFUSED, REFUSED, "0, 0"),
    ("[3000000000]", REFUSED, 3_000_000_000, "-1294967296, -1294967296"),
    ('"3000000000.5"', REFUSED, 3_000_000_000, "-1294967296, 3000000000"),
    ('"0x1"', REFUSED, REFUSED, "0, 0"),
    ('"1,000"', REFUSED, REFUSED, "1000, 1000"),
    ("1e", REFUSED, REFUSED, "1, 1"),
    ("-", REFUSED, REFUSED, "0, 0"),
]


def outcome(convert: Callable[[Any], Any], text: str) -> Any:
    try:
        return convert(fastjson.loads(text.encode()))
    except BodyDecodeError:
        return REFUSED


@pytest.mark.parametrize(("text", "as_an_int", "as_a_long"), NUMBERS, ids=lambda value: str(value)[:30])
def test_a_number_field_takes_what_java_takes(text: str, as_an_int: Any, as_a_long: Any) -> None:
    """B014, B020: numbers as text, with fractions, and beyond the range."""
    assert (outcome(as_int, text), outcome(as_long, text)) == (as_an_int, as_a_long)


@pytest.mark.parametrize(("text", "as_an_int", "as_a_long", "java"), STRICTER)
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


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1.50", "1.50"), ("-1.5", "-1.5"), ("0.10", "0.10"), ("100.00", "100.00"), ("+1.5", "1.5"), ("1.10", "1.10"),
        ("05", "5"), ("-05", "-5"), ("+5", "5"), ("00", "0"), ("00.50", "0.50"), ("-.5", "-0.5"), ("+.5", "0.5"),
        ("5.", "5"), ("0.", "0"), ("-0", "0"), ("-0.0", "0.0"), ("0e0", "0"), ("-0e0", "0"),
        ("0.000001", "0.000001"), ("0.0000001", "1E-7"), ("0.00000012", "1.2E-7"),
        ("12345678901234567890", "12345678901234567890"),
        ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        ("1e5", "100000.0"), ("1E2", "100.0"), ("5.e1", "50.0"), ("5.5e1", "55.0"), ("1.0E6", "1000000.0"),
        ("1e7", "1.0E7"), ("-1e7", "-1.0E7"), ("1e-3", "0.001"), ("1e-4", "1.0E-4"), ("0.1e-7", "1.0E-8"),
        ("123456789e-2", "1234567.89"), ("1e15", "1.0E15"), ("1e16", "1.0E16"), ("1e22", "1.0E22"),
        ("12345678e0", "12345678"), ("1.7976931348623157e308", "1.7976931348623157E308"),
        ("1E400", "Infinity"), ("1e-400", "0.0"),
    ],
)  # fmt: skip
def test_a_number_as_text_is_shown_as_java_shows_it(written: str, shown: str) -> None:
    assert number_text(NumberText(written)) == shown


@given(ints, st.booleans())
def test_every_int_passes_bare_and_quoted(number: int, quoted: bool) -> None:
    assert as_int(str(number) if quoted else number) == as_int(NumberText(number)) == number


@given(longs, st.booleans())
def test_every_long_passes_bare_and_quoted(number: int, quoted: bool) -> None:
    assert as_long(str(number) if quoted else number) == as_long(NumberText(number)) == number


@given(json_values)
def test_any_value_is_converted_within_its_range_or_refused(value: Any) -> None:
    for convert, low, high in ((as_int, INT_MIN, INT_MAX), (as_long, LONG_MIN, LONG_MAX), (as_bool, False, True)):
        try:
            converted = convert(value)
        except BodyDecodeError:
            continue
        assert low <= converted <= high
