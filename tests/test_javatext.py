"""Numbers and booleans from text, as Java's parsers take them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.javatext import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    first_of_hash_map,
    parse_boolean,
    parse_int,
    parse_long,
)


@given(st.integers(LONG_MIN, LONG_MAX), st.integers(0, 40), st.booleans())
def test_every_long_parses_with_zeros_and_sign(number: int, zeros: int, plus: bool) -> None:
    sign = "-" if number < 0 else "+" if plus else ""
    assert parse_long(f"{sign}{'0' * zeros}{abs(number)}") == number
    assert parse_int(str(number)) == (number if INT_MIN <= number <= INT_MAX else None)


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_none(text: str) -> None:
    number = parse_long(text)
    assert number is None or number == int(text)


@pytest.mark.parametrize("text", ["", "+", "-", " 1", "1 ", "1\n", "1_0", "1.0", "1e2", "0x1", "--1", "9" * 5000,
                                  "\U0001d7cf", "\u00b2", "\u2167", "\u0660 ", "\u0661" * 20])  # fmt: skip
def test_text_that_java_refuses_is_none(text: str) -> None:
    assert parse_long(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\u0661", 1),
        ("12\u0663", 123),
        ("\uff11", 1),
        ("+\u0665", 5),
        ("-\u0665", -5),
        ("0\u0660\u0660\u0661", 1),
        ("\u0660", 0),
    ],
)
def test_a_digit_of_any_script_is_a_digit(text: str, value: int) -> None:
    """B084: as Java's Character.digit has it."""
    assert parse_long(text) == parse_int(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("True", True), ("", False), ("yes", False), (None, False)]
)
def test_only_one_word_is_true(text: str | None, value: bool) -> None:
    """B085."""
    assert parse_boolean(text) is value


# From java.util.HashMap (17): the keys in the order in which they were put, and the one that it gives first.
@pytest.mark.parametrize(
    ("keys", "first"),
    [
        (["broker-a", "broker-b"], "broker-b"),
        ([f"b{number}" for number in range(12)], "b2"),
        ([f"b{number}" for number in range(13)], "b10"),
        ([f"ü😀{number}" for number in range(30)], "ü😀8"),
        (["BB", "Aa", "z"], "BB"),
        (["Aa", "BB", "z"], "Aa"),
        (["", "a"], ""),
    ],
)
def test_the_first_key_of_a_hash_map(keys: list[str], first: str) -> None:
    """B233: 311 to 313 look at one broker of a topic."""
    assert first_of_hash_map(keys) == first
