"""Incidents in sentences, in Markdown, in lines of JSON and as commands, also those that were seen from outside."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Lane, State
from rocketns.pipeline.report.beside.lines import FIELDS, json_lines
from rocketns.pipeline.report.beside.markdown import escaped, markdown
from rocketns.pipeline.report.cards import cards, when
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.report.words.advice import ADVICE, first
from rocketns.pipeline.report.words.harms import whom
from rocketns.pipeline.report.words.outside import outside_notes
from rocketns.pipeline.report.words.shell import command, quoted
from rocketns.pipeline.report.words.titles import title
from tests.pipeline.report.incident_tables import boot, broken, differ, listed, up
from tests.pipeline.report.sample import HOSTILE, hostile, sample

S = 1_000_000
MINUTE = 60 * S
T1 = 1_785_801_600 * S  # 2026-08-04 00:00 UTC
NINE = T1 - 15 * 60 * MINUTE
LANES = tuple(Lane(ns, "") for ns in ("n1", "n2", "n3"))
HARM = Harm(14, ("orders",), 37)
BASE = Incident(Kind.MISSING, NINE + 2 * MINUTE, T1, True, ns=("n2",), brokers=("broker-b",), cause="expired",
                away_us=T1 - NINE, topic="orders", harm=HARM, lanes=LANES)  # fmt: skip
OVER = replace(BASE, going_on=False, t2=NINE + 41 * MINUTE, away_us=39 * MINUTE)


@pytest.mark.parametrize(
    ("one", "facts"),
    [
        (BASE, ("broker-b is missing at n2 since 09:02", "(still)")),
        (OVER, ("broker-b was missing at n2 for 39 min", "from 09:02")),
        (replace(BASE, brokers=("a", "b", "c"), all_brokers=True), ("All 3 brokers",)),
        (replace(OVER, brokers=("a", "b", "c"), ns=("n1", "n2")), ("3 brokers (a, b, …)", "n1 and n2")),
        (replace(BASE, before=True), ("since 09:02 or before",)),
        (replace(OVER, before=True), ("at least 39 min",)),
        (replace(BASE, t1=T1 - 1440 * MINUTE - S), ("since 2026-08-02 23:59",)),
        (replace(OVER, kind=Kind.LOST, bids=(1, 2)), ("Slave 1, 2 of broker-b", "away for 39 min")),
        (replace(OVER, kind=Kind.FLAP, times=4, away_us=90 * S), ("at n2", "gone 4 times", "1 min 30 s in all")),
        (replace(OVER, kind=Kind.STALE_ROUTES), ("n2 showed other routes", "14 user topics on broker-b")),
        (replace(BASE, kind=Kind.STALE_PERMISSIONS, harm=Harm(1, ("orders",))), ("permissions", "topic orders")),
        (replace(OVER, kind=Kind.RESTARTED, brokers=("a", "b"), away_us=38 * MINUTE),
         ("n2 restarted", "away for 38 min", "2 brokers for 1 min")),
        (replace(OVER, kind=Kind.KILLED, brokers=()), ("n2 was killed at 09:02",)),
        (replace(OVER, kind=Kind.MISSING_TOPIC, harm=Harm(1, misses=1200)), ("topic orders", "1,200 times")),
    ],
)  # fmt: skip
def test_a_title_says_what_where_since_when_and_whether_it_goes_on(one: Incident, facts: tuple[str, ...]) -> None:
    for fact in facts:
        assert fact in title(one, T1)


@pytest.mark.parametrize(
    ("one", "facts"),
    [
        (BASE, ("14 user topics", "n2", "37 queues unread", "broker-b")),
        (replace(BASE, kind=Kind.STALE_ROUTES, harm=replace(HARM, queues=0)), ("all have the same queues",)),
        (replace(BASE, harm=Harm(2)), ("2 user topics", "producers")),
        (replace(OVER, kind=Kind.CRASH, harm=Harm(2)), ("nobody could",)),
        (replace(BASE, kind=Kind.CRASH), ("nobody can", "37 queues")),
        (replace(OVER, kind=Kind.CRASH, bids=(1,)), ("Its master went on",)),
        (replace(BASE, harm=Harm()), ("No user topic",)),
        (replace(BASE, harm=Harm(known=False)), ("not known which topics",)),
    ],
)
def test_whom_it_hurts(one: Incident, facts: tuple[str, ...]) -> None:
    for fact in facts:
        assert fact in whom(one)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_words_with_and_without_an_end(kind: Kind) -> None:
    assert (kind, "") in ADVICE
    for one in (BASE, OVER):
        told = replace(one, kind=kind)
        for text in (title(told, T1), whom(told), first(told)):
            assert text
            assert "{" not in text
        assert ("still" in title(told, T1)) is one.going_on


@pytest.mark.parametrize("name", ["it's", "$(reboot)", "-x", "`id`", "a\nb", "\u202eabc", "\u3164", HOSTILE])
def test_the_shell_gives_a_quoted_name_back_as_it_was(name: str) -> None:
    """NUL cannot be in a command at all; bash ends the word there."""
    said = subprocess.run(["bash", "-c", f"printf %s {quoted(name)}"], capture_output=True, check=True).stdout
    assert said.decode() == name.split("\0")[0]
    assert visible(quoted(name)) == quoted(name)


def test_the_command_is_one_that_the_command_line_takes() -> None:
    from rocketns.pipeline.cli.arguments import parse

    odd, places = replace(BASE, topic="--help"), {"journal": "j j", "out": "$HOME/o"}
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command(odd, places)}"],
                           capture_output=True, check=True, text=True).stdout.split("\0")[:-1]  # fmt: skip
    assert words[:2] == ["rocketns", "audit"]
    options = parse(words[2:])
    assert (options.topic, options.journal, options.out, options.at) == ("--help", "j j", "$HOME/o", BASE.t1 + MINUTE)


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


def test_lines_of_json_are_plain_ascii_whatever_the_names() -> None:
    lines = json_lines(hostile()).splitlines()
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert json.loads(lines[0])["brokers"] == [HOSTILE]


def test_a_name_cannot_be_read_as_a_part_of_the_sentence() -> None:
    crafted = replace(BASE, brokers=("is fine. First: run “x”",), addrs=("1.2.3.4:5 " + "x" * 9_000,))
    assert title(crafted, T1) == '“is fine. First: run "x"” is missing at n2 since 09:02 (still)'
    assert title(replace(BASE, brokers=("",)), T1).startswith("“” is missing")
    assert len(first(crafted)) < 300


SEEN = replace(OVER, cause="observed", t1_early=5 * S, t2_early=30 * S)
CUT = (1_000, 3_340)


def watched(ns: str, t1: int, t2: int, end_cause: str = "open", number: int = 1) -> dict[str, Any]:
    return boot(ns, t1, t2, end_cause, number) | {"observed": True}


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
        (("answered", "silent"), "not visible why it went"),
    ):  # fmt: skip
        assert advised in first(replace(SEEN, asked=asked))
    assert "disappeared" in title(replace(SEEN, kind=Kind.GONE, ns=("n1", "n2", "n3")), T1)


def test_a_time_in_which_nobody_watched_is_no_outage() -> None:
    ends = [watched("n1", 0, 2_000, "unwatched"), watched("n1", 2_300, 9_000, "unwatched", 2)]
    assert listed(ns_uptime=[*ends, boot("n2", 0, 10_000)], broker_intervals=[]) == []


def test_the_lane_of_a_name_server_that_nobody_watched_says_so() -> None:
    ends = [watched("n1", 0, 1_100, "unwatched"), watched("n1", 2_300, 10_000, number=2)]
    rows = [
        up("n1", "b", 0, 1_100, "unwatched"),
        up("n1", "b", 2_300, 10_000),
        *broken("n2", "b", CUT),
        up("n3", "b", 0, 10_000),
    ]
    uptime = [*ends, watched("n2", 0, 10_000), boot("n3", 0, 10_000)]
    (one,) = listed(ns_uptime=uptime, broker_intervals=rows, incidents=[differ("b", *CUT, "observed", t1_early=5 * S)])
    assert (one.kind, one.ns, one.t1_early) == (Kind.MISSING, ("n2",), 5 * S)
    assert one.lanes[0].says == "was not watched"
    assert State.UNWATCHED in {state for _, _, state in one.lanes[0].spans}
    assert one.lanes[2].says == "lists it"


def test_the_page_and_what_is_beside_it_carry_the_times_between_looks() -> None:
    data = replace(sample(), listed=[replace(SEEN, asked=("answered",))])
    line = json.loads(json_lines(data))
    assert (line["t1_early"], line["t2_early"], line["asked"]) == (5 * S, 30 * S, ["answered"])
    between = "it began between 09:01:55 and 09:02:00"
    assert between in markdown(data)
    assert between in render(data)
    assert "it lived" in cards(data)[0].cause


def test_notes_say_what_cannot_be_known_of_whom() -> None:
    sources = [
        {"ns": "n1", "observed": True, "members_early": 5 * S, "topics_early": 200 * S},
        {"ns": "n2", "observed": True, "members_early": None, "topics_early": None},
        {"ns": "n3", "observed": False},
    ]
    uptime = [watched("n1", 0, 100), watched("n1", 160, 300, number=2), watched("n2", 0, 300), boot("n3", 0, 9)]
    notes = outside_notes(sources, uptime)
    assert set(notes) == {"departures", "brokers", "availability", "topics", "lookups", "clients", "impact", "quality"}
    for fact in ("brokers to 5 s", "topics to 3 min 20 s", "not watched for 1 min"):
        assert fact in notes["quality"][0]
    assert "n1, n2: no lookup is visible" in notes["topics"][0]
    bare = [watched("n1", 0, 100) | {"no_topics": True}]
    (note,) = outside_notes([{"ns": "n1", "observed": True}], bare)["divergence"]
    assert note.startswith("n1 did not list topics")
    assert outside_notes(sources[2:], uptime) == {}
