"""How values and names read: counts, times, and names in any script on the page, in Markdown and in terminals; what a
timeline draws."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Level
from rocketns.pipeline.report import text
from rocketns.pipeline.report.beside.markdown import markdown
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.scripts import in_html, isolated, strict, visible
from rocketns.pipeline.report.spans import broker_rows, down_spans
from rocketns.pipeline.report.text import short, short_strict
from rocketns.pipeline.report.words.shell import quoted
from tests.pipeline.report.sample import sample

S = 1_000_000
END = 400 * S


def test_values_read_in_few_figures() -> None:
    durations = [text.seconds(value) for value in (0.35, 4.25, 117, 3600, 86_399.9, 90_000, None)]
    assert durations == ["350 ms", "4.2 s", "1 min 57 s", "1 h", "1 d", "1 d 1 h", "-"]
    assert [text.number(value) for value in (3.0, 8 / 3, 46_800.4, None)] == ["3", "2.667", "46,800", "-"]
    assert [text.percent(value) for value in (1.0, 0.99999, 0.7025)] == ["100.00 %", "> 99.99 %", "70.25 %"]
    assert text.moment(1_785_747_785_999_999) == "2026-08-03 09:03:05"
    assert text.shortened("a" * 20 + "z", 10) == "aaaaaa…aaz"


def test_queue_ids_are_put_together_by_broker_and_in_runs() -> None:
    ids = ["b:10", "b:2", "b:1", "b:0", "a:3", "x:y:0"]
    assert text.queue_ids(ids) == "a 3; b 0-2, 10; x:y 0"
    assert text.queue_ids([]) == text.queue_ids(None) == "-"


def input_of(**tables: list[dict[str, Any]]) -> ReportInput:
    return ReportInput(0, END, Verdict.FINDINGS, tables={name: Table.of(rows) for name, rows in tables.items()})


def interval(ns: str, broker: str, t1: int, t2: int, end_cause: str) -> dict[str, Any]:
    return {"ns": ns, "broker": broker, "bid": 0, "addr": "a", "t1": t1 * S, "t2": t2 * S, "end_cause": end_cause}


def test_the_timeline_of_the_hand_computed_example() -> None:
    """Two brokers at n2, of which broker-b is gone from 185 s to 302 s."""
    intervals = [
        interval("n2", "broker-a", 1, 400, "open"),
        interval("n2", "broker-b", 2, 185, "expired"),
        interval("n2", "broker-b", 302, 400, "open"),
        interval("n1", "broker-b", 2, 400, "open"),
    ]
    incident = {"broker": "broker-b", "cause": "expired", "t1": 185 * S, "t2": 302 * S}
    first, second = broker_rows(input_of(broker_intervals=intervals, incidents=[incident]), "n2")
    assert (first.label, first.up) == ("broker-b:0", [(2 * S, 185 * S), (302 * S, END)])
    assert (first.failed, first.down, first.differ) == ([(185 * S, 302 * S)], [], [(185 * S, 302 * S)])
    assert (second.label, second.up, second.failed) == ("broker-a:0", [(S, END)], [])
    for cause, down in (("stop", []), ("lost", []), ("silent", []), ("open", []), ("unregister", [(100 * S, END)])):
        (row,) = broker_rows(input_of(broker_intervals=[interval("n", "b", 0, 100, cause)]), "n")
        assert (row.failed, row.down) == ([], down)
    boots = [{"ns": "n", "t1": 10 * S, "t2": 100 * S}, {"ns": "n", "t1": 160 * S, "t2": END}]
    assert down_spans(input_of(ns_uptime=boots), "n") == [(0, 10 * S), (100 * S, 160 * S)]


HEBREW, ARABIC = "הזמנות", "طلبات"
CONTROLS = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F))),
    *map(chr, (*range(0x2060, 0x2065), *range(0x2066, 0x2070), 0xFEFF, 0x180E, 0x3164, 0x34F, 0xFE0F, 0xE0001)),
]


def test_letters_of_every_script_are_letters_and_controls_are_escaped_everywhere() -> None:
    for name in (f"{HEBREW}-2", f"{ARABIC}_retry", "заказы", "注文", "आदेश", "คำสั่ง"):
        assert visible(name) == name
        assert str(in_html(name)).replace("<bdi>", "").replace("</bdi>", "") == name
    for control in CONTROLS:
        for shown in (visible, strict, isolated, in_html):
            said = str(shown(f"a{control}b"))
            assert control not in said
            assert "\\" in said
    for sign in "\u3164\uffa0\u2800\u0300\u20dd\ufe0f\u034f":  # they count as printable
        assert visible(f"a{sign}1") == f"a\\u{ord(sign):04x}1"


def test_marks_are_escaped_where_they_are_not_part_of_a_letter() -> None:
    """One over an ASCII letter, at the beginning, and the fifth over any letter."""
    assert visible("a\u0301") == "a\\u0301"
    assert visible("\u0947x") == "\\u0947x"
    assert visible("त" + "\u0947" * 6) == "त" + "\u0947" * 4 + "\\u0947" * 2
    assert visible("त\u20dd") == "त\u20dd"


@pytest.mark.parametrize(
    ("said", "html"),
    [
        (f"{HEBREW} is missing at n2", f"<bdi>{HEBREW}</bdi> is missing at n2"),
        (f"{HEBREW}, {ARABIC}: 4 read", f"<bdi>{HEBREW}</bdi>, <bdi>{ARABIC}</bdi>: 4 read"),
        (f"orders-{HEBREW}-{ARABIC}-2", f"orders-<bdi>{HEBREW}-{ARABIC}</bdi>-2"),
        (f"<b>{HEBREW}</b>", f"&lt;b&gt;<bdi>{HEBREW}</bdi>&lt;/b&gt;"),
    ],
)
def test_text_from_right_to_left_is_isolated(said: str, html: str) -> None:
    assert in_html(said) == html
    assert isolated(said) == html.replace("<bdi>", "\u2068").replace("</bdi>", "\u2069").replace("&lt;", "<").replace(
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
