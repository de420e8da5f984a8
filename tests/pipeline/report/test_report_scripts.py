"""Names in any script on the page, in Markdown and in terminals."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Level
from rocketns.pipeline.report.beside.markdown import escaped, markdown
from rocketns.pipeline.report.page import render, script
from rocketns.pipeline.report.scripts import LETTERS, in_html, isolated, strict, visible
from rocketns.pipeline.report.text import short, short_strict
from rocketns.pipeline.report.words.shell import quoted
from tests.pipeline.report.report_sample import sample

HEBREW, ARABIC = "הזמנות", "طلبات"
CONTROLS = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F))),
    *map(chr, (*range(0x2060, 0x2065), *range(0x2066, 0x2070), 0xFEFF, 0x180E, 0x3164, 0x34F, 0xFE0F, 0xE0001)),
]


@pytest.mark.parametrize("name", [HEBREW, ARABIC, f"{HEBREW}-2", f"{ARABIC}_retry", "заказы", "注文", "आदेश", "คำสั่ง"])
def test_letters_of_every_script_are_letters(name: str) -> None:
    assert visible(name) == name
    assert str(in_html(name)).replace("<bdi>", "").replace("</bdi>", "") == name


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: f"U+{ord(c):04X}")
def test_controls_are_escaped_everywhere(control: str) -> None:
    for shown in (visible, strict, isolated, in_html):
        said = str(shown(f"a{control}b"))
        assert control not in said
        assert "\\" in said


def test_marks_are_escaped_where_they_are_not_part_of_a_letter() -> None:
    """One over an ASCII letter, at the beginning, and the fifth over any letter."""
    assert visible("a\u0301") == "a\\u0301"
    assert visible("\u0947x") == "\\u0947x"
    assert visible("त" + "\u0947" * 6) == "त" + "\u0947" * 4 + "\\u0947" * 2
    assert visible("त\u20dd") == "त\u20dd"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (f"{HEBREW} is missing at n2", f"<bdi>{HEBREW}</bdi> is missing at n2"),
        (f"{HEBREW}, {ARABIC}: 4 read", f"<bdi>{HEBREW}</bdi>, <bdi>{ARABIC}</bdi>: 4 read"),
        (f"orders-{HEBREW}-{ARABIC}-2", f"orders-<bdi>{HEBREW}-{ARABIC}</bdi>-2"),
        (f"<b>{HEBREW}</b>", f"&lt;b&gt;<bdi>{HEBREW}</bdi>&lt;/b&gt;"),
    ],
)
def test_text_from_right_to_left_is_isolated(text: str, html: str) -> None:
    assert in_html(text) == html
    assert isolated(text) == html.replace("<bdi>", "\u2068").replace("</bdi>", "\u2069").replace("&lt;", "<").replace(
        "&gt;", ">"
    )


def test_every_letter_that_is_written_from_right_to_left_is_isolated() -> None:
    """By Python's table of characters."""
    letters = (c for c in map(chr, range(0x110000)) if unicodedata.bidirectional(c) in {"R", "AL", "AN"})
    shown = [c for c in letters if c == visible(c)]
    assert len(shown) > 1000
    assert [c for c in shown if strict(c) == c] == []
    assert [c for c in shown if in_html(c) == c] == []


def test_terminals_drawings_and_commands_have_no_such_letters() -> None:
    assert strict(f"{HEBREW[:1]} 1") == "\\u05d4 1"
    assert short(HEBREW) == HEBREW
    assert short_strict(HEBREW).isascii()
    assert quoted(HEBREW).isascii()


def test_markdown_isolates_with_characters() -> None:
    assert escaped(f"{HEBREW} | 2") == f"\u2068{HEBREW}\u2069 \\| 2"


def test_the_page_shows_such_names_as_they_are() -> None:
    data = sample()
    missing = Incident(
        Kind.MISSING, data.t0 + 60_000_000, data.t0 + 120_000_000, False, ns=("n2",), brokers=(HEBREW,), topic=ARABIC,
        cause="expired", harm=Harm(topics=1, sample=(ARABIC,), queues=4), level=Level.MAJOR,
    )  # fmt: skip
    page = render(replace(data, listed=[missing]))
    assert f'<span class="name"><bdi>{HEBREW}</bdi></span> was missing at' in page
    assert f"<bdi>{ARABIC}</bdi>" in page
    assert "<title>" in page
    assert "<bdi>" not in page[page.index("<title>") : page.index("</title>")]
    assert "\\u05d4" not in page.split("Look closer")[0].split("<code>")[0]
    assert f"\u2068{HEBREW}\u2069" in markdown(replace(data, listed=[missing]))


def test_the_script_of_the_page_knows_the_same_letters() -> None:
    assert f'"{"".join(map(in_script, LETTERS))}"' in script()


def in_script(c: str) -> str:
    """A character as the script of the page writes it for a regular expression."""
    if c.isascii():
        return c
    return f"\\\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\\\u{{{ord(c):x}}}"
