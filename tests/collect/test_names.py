"""The list of ``--name-servers``, times, and what is wrong with them."""

from __future__ import annotations

import argparse

import pytest

from rocketns.collect.durations import duration, shown
from rocketns.collect.names import Named, NamesError, parse_names


@pytest.mark.parametrize("text", ["a:1,b:2", "a:1;b:2", "a:1 b:2", " a:1 ,; b:2\n", "a:1;;b:2,"])
def test_lists_have_commas_semicolons_or_spaces(text: str) -> None:
    assert parse_names(text) == [Named("a-1", "a:1"), Named("b-2", "b:2")]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("east=10.0.0.1:9876", Named("east", "10.0.0.1:9876")),
        ("[2001:db8::1]:9876", Named("2001-db8--1-9876", "[2001:db8::1]:9876")),
        ("2001:db8::1:9876", Named("2001-db8--1-9876", "[2001:db8::1]:9876")),
        ("ns_1.example:9876", Named("ns_1.example-9876", "ns_1.example:9876")),
    ],
)
def test_a_name_server_has_a_name_or_gets_one(text: str, named: Named) -> None:
    assert parse_names(text) == [named]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "1 to 16"), (",;", "1 to 16"), ("a:1,b", "b: HOST:PORT"), ("a:1,b:0", "b:0: HOST:PORT"),
        ("a:99999", "a:99999"), ("a/b=a:1", "a/b=a:1: the name"), ("é=a:1", "é=a:1"),
        ("a:1,a:1", "a-1 is there twice"), ("a:1 x=a:1", "a:1 is there twice"),
        ("x=a:1,x=b:1", "x is there twice"), (":9876", ":9876: HOST:PORT"),
        (",".join(f"a:{port}" for port in range(1, 18)), "not 17"),
    ],
)  # fmt: skip
def test_a_wrong_name_server_is_named(text: str, wrong: str) -> None:
    with pytest.raises(NamesError) as raised:
        parse_names(text)
    assert wrong in str(raised.value)


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5), ("5", 5), ("500ms", 0.5), ("10m", 600), ("1.5h", 5400)])
def test_times_have_units(text: str, seconds: float) -> None:
    assert duration(0.1, 86_400)(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-5s", "5 s", "5y", "1e3", "inf", "nan", "2d", "1ms", "٣s"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 5s or 10m"):
        duration(0.1, 86_400)(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.2 s"), (5, "5 s"), (100, "100 s"), (203.4, "3 min"), (7_300, "2 h"), (200_000, "2 d")],
)
def test_times_are_shown_in_whole_units(seconds: float, text: str) -> None:
    assert shown(seconds) == text
