"""Incidents in sentences, in Markdown, in lines of JSON and as commands, in English and in Chinese; values and names in
any script."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rocketns.pipeline.incidents.model import Harm, Incident, Lane, Symptom
from rocketns.pipeline.report import text
from rocketns.pipeline.report.beside import FIELDS, escaped, json_lines, markdown
from rocketns.pipeline.report.cards import when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import TEMPLATES, render
from rocketns.pipeline.report.text import in_html, isolated, short, short_strict, strict, visible
from rocketns.pipeline.report.words.names import SPOKEN, command, quoted, spoken
from rocketns.pipeline.report.words.sentences import ADVICE, first, title, whom
from rocketns.pipeline.saying import speaking
from tests.pipeline.report.sample import HOSTILE, going_on, hostile, incomplete, nothing, sample

S = 1_000_000
MINUTE = 60 * S
T1 = 1_785_801_600 * S  # 2026-08-04 00:00 UTC
NINE = T1 - 15 * 60 * MINUTE
LANES = tuple(Lane(ns) for ns in ("n1", "n2", "n3"))
HARM = Harm(14, ("orders",), 37)
BASE = Incident(Symptom.MISSING, NINE + 2 * MINUTE, T1, True, ns=("n2",), brokers=("broker-b",), cause="expired",
                away_us=T1 - NINE, topic="orders", harm=HARM, lanes=LANES)  # fmt: skip
OVER = replace(BASE, going_on=False, t2=NINE + 41 * MINUTE, away_us=39 * MINUTE)


@pytest.mark.parametrize(
    ("one", "facts"),
    [
        (BASE, ("broker-b missing at n2 since 09:02", "(still)")),
        (OVER, ("broker-b missing at n2 for 39 min", "from 09:02")),
        (replace(OVER, brokers=("a", "b", "c"), ns=("n1", "n2")), ("3 brokers (a, b, …)", "n1 and n2")),
        (replace(BASE, t1=T1 - 1440 * MINUTE - S), ("since 2026-08-02 23:59",)),
        (replace(OVER, kind=Symptom.FLAP, times=4, away_us=90 * S), ("at n2", "gone 4 times", "1 min 30 s in all")),
        (replace(OVER, kind=Symptom.RESTARTED, brokers=("a", "b"), away_us=38 * MINUTE),
         ("n2 restarted", "away for 38 min", "2 brokers for 1 min")),
        (replace(OVER, kind=Symptom.MISSING_TOPIC, harm=Harm(1, misses=1200)), ("1,200 lookups of topic orders",)),
    ],
)  # fmt: skip
def test_a_title_says_what_where_since_when_and_whether_it_goes_on(one: Incident, facts: tuple[str, ...]) -> None:
    for fact in facts:
        assert fact in title(one, T1)


@pytest.mark.parametrize(
    ("one", "facts"),
    [
        (BASE, ("14 user topics", "n2", "37 queues unread", "broker-b")),
        (replace(BASE, kind=Symptom.STALE_ROUTES, harm=replace(HARM, queues=0)), ("the same queues",)),
        (replace(BASE, kind=Symptom.CRASH), ("no writing to its 37 queues",)),
        (replace(OVER, kind=Symptom.CRASH, bids=(1,)), ("Its master stays",)),
        (replace(BASE, harm=Harm(known=False)), ("not known which topics",)),
    ],
)
def test_whom_it_hurts(one: Incident, facts: tuple[str, ...]) -> None:
    for fact in facts:
        assert fact in whom(one)


@pytest.mark.parametrize("kind", Symptom)
def test_every_kind_has_words_with_and_without_an_end(kind: Symptom) -> None:
    assert "" in ADVICE[kind]
    for one in (BASE, OVER):
        told = replace(one, kind=kind)
        for said in (title(told, T1), whom(told), first(told)):
            assert said
            assert "{" not in said
        assert ("still" in title(told, T1)) is one.going_on


@pytest.mark.parametrize("name", ["it's", "$(reboot)", "-x", "`id`", "a\nb", "\u202eabc", "\u3164", HOSTILE])
def test_the_shell_gives_a_quoted_name_back_as_it_was(name: str) -> None:
    """NUL cannot be in a command at all; bash ends the word there."""
    said = subprocess.run(["bash", "-c", f"printf %s {quoted(name)}"], capture_output=True, check=True).stdout
    assert said.decode() == name.split("\0")[0]
    assert visible(quoted(name)) == quoted(name)


def test_the_command_is_one_that_the_command_line_takes() -> None:
    from rocketns.pipeline.cli.arguments import parse

    odd, places = replace(BASE, topic="--help"), {"out": "$HOME/o o"}
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command(odd, places)}"],
                           capture_output=True, check=True, text=True).stdout.split("\0")[:-1]  # fmt: skip
    assert words[:2] == ["rocketns", "audit"]
    options = parse(words[2:])
    assert (options.topic, options.out, options.at) == ("--help", "$HOME/o o", BASE.t1 + MINUTE)


def test_markdown_from_the_network_is_shown_as_it_is() -> None:
    assert escaped("a*b_[x](y)|`c`<b>") == r"a\*b\_\[x\]\(y\)\|\`c\`&lt;b&gt;"
    assert escaped("@all https://evil.example www.evil.example") == (
        "&#64;all https&#58;//evil.example www&#46;evil.example"
    )
    page = markdown(hostile())
    assert "<script" not in page
    assert "https://" not in page
    assert "\u202e" not in page
    # the only raw text is the command, in code blocks by indentation
    lines = [line for line in page.splitlines() if not line.startswith("    ")]
    assert not any("`" in line.replace("\\`", "") for line in lines)


def test_each_incident_is_a_line_of_json_with_the_documented_keys() -> None:
    lines = [json.loads(line) for line in json_lines(sample()).splitlines()]
    assert len(lines) == len(sample().incidents) > 5
    assert all(list(line) == list(FIELDS) for line in lines)
    top = lines[0]
    assert (top["kind"], top["brokers"], top["ns"], top["going_on"]) == ("missing", ["broker-b"], ["n2"], False)
    assert (top["since"], top["until"], top["topics"]) == ("2026-08-03T09:00:00.000Z", "2026-08-03T09:39:00.000Z", 1248)
    assert top["records"][0] == {
        "ns": "n2", "boot": 1, "ts": top["t1"] + 12_000, "ev": "down", "cause": "expired", "broker": "broker-b",
    }  # fmt: skip
    assert top["views"][1]["spans"][1] == [top["t1"], top["t2"], "gone"]


SEEN = replace(OVER, cause="observed", t1_early=5 * S, t2_early=30 * S)


def test_it_says_between_which_moments_it_came_and_what_the_broker_said() -> None:
    for one, said in (
        (SEEN, "it began between 09:01:55 and 09:02:00 and ended between 09:40:30 and 09:41:00"),
        (replace(SEEN, going_on=True), "it began between 09:01:55 and 09:02:00"),
        (replace(SEEN, before=True), "it ended between 09:40:30 and 09:41:00"),
    ):
        assert when(one).endswith(f"; seen from outside: {said}")
    assert when(replace(SEEN, t1_early=999_999, t2_early=0)) == when(OVER)
    for asked, advised in (
        ((), "not visible why it went"), (("answered",), "the broker itself answered"), (("refused",), "refused"),
        (("silent",), "did not answer when it was asked"),
        (("answered", "silent"), "not visible why it went"),
    ):  # fmt: skip
        assert advised in first(replace(SEEN, asked=asked))
    assert "disappeared" in title(replace(SEEN, kind=Symptom.GONE, ns=("n1", "n2", "n3")), T1)


def test_values_read_in_few_figures() -> None:
    durations = [text.seconds(value) for value in (0.35, 4.25, 117, 3600, 86_399.9, 90_000, None)]
    assert durations == ["350 ms", "4.2 s", "1 min 57 s", "1 h", "1 d", "1 d 1 h", "-"]
    assert [text.number(value) for value in (3.0, 8 / 3, 46_800.4, None)] == ["3", "2.667", "46,800", "-"]
    assert [text.percent(value) for value in (1.0, 0.99999, 0.7025)] == ["100.00 %", "> 99.99 %", "70.25 %"]
    assert text.moment(1_785_747_785_999_999) == "2026-08-03 09:03:05"
    assert text.shortened("a" * 20 + "z", 10) == "aaaaaa…aaz"


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
    assert (short(HEBREW), short_strict(HEBREW).isascii(), quoted(HEBREW).isascii()) == (HEBREW, True, True)


WORD = re.compile(r"(?<![\w.%-])[A-Za-z][a-z]{2,}(?![\w-]|\.\w)")
# Names of RocketMQ and of rocketns, codes of the journal, commands and options, names that the data has.
NAMES = (
    "audit averagely circle client docs expired groups heartbeat hole journal lost main master mqadmin open perm "
    "rocketns start stop tables target true tvd verify admin anomaly snapshot register unregister "
    "Broker Java Home Pod Tvd Boot Reactor "
    "clicks east key local mail ops orders pay payments prices refunds shop stock var topic"
)


class Shown(HTMLParser):
    """What a page shows: texts outside of commands, and attributes that are read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within += tag in ("script", "style", "code")
        self.texts += [text for name, text in attrs if text and name in ("title", "aria-label", "placeholder")]

    def handle_endtag(self, tag: str) -> None:
        self._within -= tag in ("script", "style", "code")

    def handle_data(self, data: str) -> None:
        self.texts += [] if self._within else [data]


def english(texts: list[str]) -> set[str]:
    return {word for text in texts for word in WORD.findall(text.replace("\\", ""))} - set(NAMES.split())


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("make", [sample, going_on, nothing, incomplete])
def test_no_word_of_the_report_is_english_but_names_and_codes(make: Callable[[], ReportInput]) -> None:
    """The sentences of a run are made in its language; those of the sample were written by hand."""
    data = replace(make(), notes={}, incomplete=())
    page = render(data)
    assert '<html lang="zh-CN">' in page
    assert english(Shown(page).texts) == set()
    assert english([line for line in markdown(data).splitlines() if not line.startswith("    ")]) == set()


@pytest.mark.usefixtures("chinese")
def test_the_script_says_nothing_but_what_the_catalogue_has() -> None:
    script = "\n".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.js"))
    assert set(re.findall(r'\b_\(\s*"([^"]*)"', script)) <= set(SPOKEN) == set(spoken())


@pytest.mark.usefixtures("chinese")
def test_lines_for_programs_are_the_same_in_every_language() -> None:
    data = going_on()
    shown = json_lines(data)
    with speaking("en"):
        assert json_lines(going_on()) == shown
