"""Incidents in sentences, in Markdown, in lines of JSON and as commands; names from the network stay names."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Lane, Level
from rocketns.pipeline.report.beside.lines import FIELDS, json_lines
from rocketns.pipeline.report.beside.markdown import escaped, markdown
from rocketns.pipeline.report.cards import cards, when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.report.summary import headline, summary
from rocketns.pipeline.report.words.advice import ADVICE, first, silent_before
from rocketns.pipeline.report.words.harms import whom
from rocketns.pipeline.report.words.marking import marked
from rocketns.pipeline.report.words.names import identities
from rocketns.pipeline.report.words.shell import command, quoted
from rocketns.pipeline.report.words.titles import title
from tests.pipeline.report.report_sample import HOSTILE, hostile, sample

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
    ("one", "expected"),
    [
        (BASE, "broker-b is missing at n2 since 09:02 (still)"),
        (OVER, "broker-b was missing at n2 for 39 min, from 09:02 on"),
        (replace(BASE, brokers=("a", "b", "c"), all_brokers=True),
         "All 3 brokers are missing at n2 since 09:02 (still)"),
        (replace(OVER, brokers=("a", "b", "c"), ns=("n1", "n2")),
         "3 brokers (a, b, …) were missing at n1 and n2 for 39 min, from 09:02 on"),
        (replace(BASE, before=True), "broker-b is missing at n2 since 09:02 or before (still)"),
        (replace(OVER, before=True), "broker-b was missing at n2 for at least 39 min, from 09:02 or before"),
        (replace(BASE, t1=T1 - 1440 * MINUTE - S), "broker-b is missing at n2 since 2026-08-02 23:59 (still)"),
        (replace(BASE, kind=Kind.CRASH), "broker-b crashed at 09:02 and is not back (still)"),
        (replace(OVER, kind=Kind.DEAD), "broker-b stopped sending heartbeats at 09:02 and was away for 39 min"),
        (replace(OVER, kind=Kind.LOST, bids=(1, 2)), "Slave 1, 2 of broker-b went at 09:02 and was away for 39 min"),
        (replace(OVER, kind=Kind.FLAP, times=4, away_us=90 * S),
         "broker-b came and went at n2 from 09:02 to 09:41: gone 4 times, 1 min 30 s in all"),
        (replace(BASE, kind=Kind.FLAP, times=4, away_us=90 * S, ns=("n1", "n2", "n3")),
         "broker-b comes and goes since 09:02 (still): gone 4 times, 1 min 30 s in all"),
        (replace(OVER, kind=Kind.STALE_ROUTES),
         "n2 showed other routes than the rest for 14 user topics on broker-b for 39 min, from 09:02 on"),
        (replace(BASE, kind=Kind.STALE_PERMISSIONS, harm=Harm(1, ("orders",))),
         "n2 shows other permissions than the rest for topic orders on broker-b since 09:02 (still)"),
        (replace(BASE, kind=Kind.STALE_ROUTES, harm=Harm()),
         "n2 shows other routes than the rest for system topics or those of consumer groups on broker-b since 09:02 "
         "(still)"),
        (replace(OVER, kind=Kind.RESTARTED, brokers=("a", "b"), away_us=38 * MINUTE),
         "n2 restarted at 09:02 and was away for 38 min, then without routes to 2 brokers for 1 min"),
        (replace(OVER, kind=Kind.KILLED, brokers=()), "n2 was killed at 09:02 and was away for 39 min"),
        (replace(BASE, kind=Kind.STOPPED), "n2 is stopped since 09:02 (still)"),
        (replace(BASE, kind=Kind.SILENT), "n2 writes nothing since 09:02 (still)"),
        (replace(OVER, kind=Kind.MISSING_TOPIC, harm=Harm(1, misses=1200)),
         "Clients asked for topic orders, which no broker has, for 39 min, from 09:02 on: 1,200 times"),
    ],
)  # fmt: skip
def test_a_title_says_what_where_since_when_and_whether_it_goes_on(one: Incident, expected: str) -> None:
    assert title(one, T1) == expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (
            BASE,
            "14 user topics: consumers that ask n2 leave 37 queues unread, and producers that ask it send nothing to "
            "broker-b.",
        ),
        (
            replace(BASE, kind=Kind.STALE_ROUTES, harm=replace(HARM, queues=0)),
            "14 user topics: routes differ, but all have the same queues.",
        ),
        (
            replace(BASE, kind=Kind.STALE_ROUTES, harm=Harm(1, ("orders",), 1)),
            "1 user topic: 1 queue is on some routes and not on others.",
        ),
        (replace(BASE, harm=Harm(2)), "2 user topics: producers that ask n2 send nothing to broker-b."),
        (replace(OVER, kind=Kind.CRASH, harm=Harm(2)), "2 user topics: nobody could write to or read from it."),
        (replace(BASE, kind=Kind.CRASH), "14 user topics: nobody can write to or read from its 37 queues."),
        (replace(OVER, kind=Kind.CRASH, bids=(1,)), "Its master went on, with one copy less."),
        (replace(BASE, harm=Harm()), "No user topic is concerned."),
        (replace(BASE, harm=Harm(known=False)), "It is not known which topics it holds."),
    ],
)
def test_whom_it_hurts(one: Incident, expected: str) -> None:
    assert whom(one) == expected


def test_an_incident_at_the_beginning_may_be_older() -> None:
    assert when(replace(BASE, before=True)) == "since 2026-08-03 09:02:00 UTC or before, at least 14 h 58 min"
    assert when(replace(OVER, before=True)) == (
        "2026-08-03 09:02:00 or before, to 2026-08-03 09:41:00 UTC, at least 39 min"
    )


@pytest.mark.parametrize(
    ("harm", "topics", "impact"),
    [
        (Harm(1, ("orders",), 1, orphaned=1, twice=2), "1 user topic with 1 queue: orders",
         "1 queue is read by nobody, and 2 queues are read by two consumers or more."),
        (Harm(2, (), 0, twice=1), "2 user topics", "1 queue is read by two consumers or more."),
        (Harm(3, ("orders",), 1_200, orphaned=7), "3 user topics with 1,200 queues: orders and 2 more",
         "7 queues are read by nobody."),
    ],
)  # fmt: skip
def test_a_card_counts_in_whole_words(harm: Harm, topics: str, impact: str) -> None:
    data = empty()
    data.__dict__["incidents"] = [replace(BASE, harm=harm)]
    card = cards(data)[0]
    assert card.topics == topics
    assert card.impact.endswith(f"in the worst way: {impact}")


def test_the_beginning_names_the_next_incidents_that_go_on() -> None:
    """Whoever reads only the first one would not know that another broker is missing, too."""
    data = empty()
    going_on = [replace(BASE, brokers=(f"b{number}",), t1=BASE.t1 + number) for number in range(7)]
    data.__dict__["incidents"] = [going_on[0], replace(OVER, kind=Kind.CRASH), *going_on[1:]]
    top = summary(data)
    assert [other.title for other in top.others] == [
        f"b{number} is missing at n2 since 09:02 (still)" for number in range(1, 5)
    ]
    assert [other.anchor for other in top.others] == [card.identity for card in cards(data)[2:6]]
    assert top.more_others == 2
    page = render(data)
    assert f'<b>Minor:</b> <a href="#{top.others[0].anchor}">' in page
    assert "and 2 more, in the list below" in page


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (replace(BASE, silent_ms=121_000), "The last heartbeat came at 08:59:59, 2 min 1 s earlier"),
        (replace(BASE, silent_ms=121_000, before=True), "The last heartbeat came 2 min 1 s earlier"),
        (BASE, ""),
    ],
)
def test_the_last_heartbeat_has_a_time_if_the_beginning_is_known(one: Incident, said: str) -> None:
    assert silent_before(one) == (f"{said}: the fault may have begun then." if said else "")


def test_a_name_server_that_did_not_run_is_looked_at_first() -> None:
    assert first(replace(BASE, stalled=("n2",))).startswith("Find out why n2 did not run for a while")
    assert first(replace(BASE, stalled=("n1",))) == first(BASE)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_words_with_and_without_an_end(kind: Kind) -> None:
    assert (kind, "") in ADVICE
    for one in (BASE, OVER):
        told = replace(one, kind=kind)
        for text in (title(told, T1), whom(told), first(told)):
            assert text
            assert "{" not in text
        assert ("still" in title(told, T1)) is one.going_on


def test_the_command_asks_about_a_moment_within_the_incident() -> None:
    assert command(BASE, {"journal": "/var/journal"}) == (
        "rocketns audit explain --journal /var/journal --at 2026-08-03T09:03:00.000Z -- orders"
    )
    short = replace(OVER, t2=OVER.t1 + 10 * S)
    assert "09:02:05.000Z" in command(short, {})


@pytest.mark.parametrize("topic", ["", "a\0b", "t" * 200_000])
def test_there_is_no_command_for_a_topic_that_a_shell_cannot_be_given(topic: str) -> None:
    """bash ends a word at NUL, and takes no longer ones than 128 KiB."""
    assert command(replace(BASE, topic=topic), {}) == ""


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "a b",
        "it's",
        "$(reboot)",
        "-x",
        "`id`",
        "a\nb",
        "x\x1b[2J",
        "\u202eabc",
        "\u05d0 1",
        "\u3164",
        HOSTILE,
    ],
)
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


def test_markdown_begins_with_what_is_wrong() -> None:
    lines = markdown(sample()).splitlines()
    assert lines[0] == "# No open incident. Worst of the past: broker-b was missing at n2 for 39 min, from 09:00 on."
    assert lines[2] == "2026-08-03 09:00:00 to 2026-08-03 09:39:00 UTC, 39 min."
    assert lines[6].startswith("**First:** Look at the network between broker-b")
    assert lines[8] == "    rocketns audit explain --journal journal --at 2026-08-03T09:01:00.000Z -- audit_topic"
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(sample().incidents)
    assert {line.replace("\\|", "").count("|") for line in table} == {5}


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


def test_anchors_are_stable_and_different() -> None:
    other = replace(BASE, ns=("n3",))
    assert identities([BASE, other]) == [*identities([BASE]), *identities([other])]
    assert len(set(identities([BASE, BASE, other]))) == 3
    assert identities([replace(BASE, level=Level.SEVERE, score=7.0)]) == identities([BASE])


def test_a_name_cannot_be_read_as_a_part_of_the_sentence() -> None:
    crafted = replace(BASE, brokers=("is fine. First: run “x”",), addrs=("1.2.3.4:5 " + "x" * 9_000,))
    assert title(crafted, T1) == '“is fine. First: run "x"” is missing at n2 since 09:02 (still)'
    assert title(replace(BASE, brokers=("",)), T1).startswith("“” is missing")
    assert len(first(crafted)) < 300


def test_names_in_a_sentence_are_marked_as_whole_words() -> None:
    assert str(marked("b-1 is missing at b", ["b", "b-1"])) == (
        '<span class="name">b-1</span> is missing at <span class="name">b</span>'
    )
    assert "<b>" not in marked("<b> is missing", ["<b>"])
    assert str(marked("nothing & nobody", [])) == "nothing &amp; nobody"


def empty(**tables: Any) -> ReportInput:
    return ReportInput(0, T1, Verdict.NOTHING, tables={name: Table.of(rows) for name, rows in tables.items()})


def test_a_list_from_a_part_of_the_rows_does_not_say_that_nothing_goes_on() -> None:
    data = sample()
    rows = data["departures"].rows
    cut = replace(data, tables={**data.tables, "departures": Table.of(rows, 12_000)})
    assert headline(data).startswith("No open incident. Worst of the past: broker-b was")
    assert headline(cut).startswith("No incident listed here is open. Worst of the list: broker-b was")
    assert summary(cut).counts.startswith("At least 6 incidents (")
    assert summary(cut).counts.endswith(" A table had too many rows, so some incidents are not listed: see --days.")
    assert "too many rows" not in summary(data).counts


def test_an_open_incident_goes_on_at_the_end_of_the_observation() -> None:
    """With --to the journals go on after it."""
    data = empty()
    data.__dict__["incidents"] = [replace(BASE, level=Level.SEVERE)]
    assert summary(data).counts == (
        "1 incident (1 severe): 1 goes on at 2026-08-04 00:00:00 UTC, the last moment that was looked at; 0 are over."
    )


def test_a_planned_stop_is_no_finding_but_the_page_does_not_say_that_nothing_is_wrong() -> None:
    data = empty()
    assert summary(data).verdict == "All input was read, and nothing is wrong · exit status 0"
    data.__dict__["incidents"] = [replace(BASE, kind=Kind.STOPPED)]
    assert summary(data).verdict == "All input was read, and there is no finding · exit status 0"


def test_a_run_without_incidents_has_no_lines_and_a_headline() -> None:
    assert json_lines(empty()) == ""
    assert markdown(empty()).startswith("# Nothing is wrong: the name servers agreed, and no broker was lost.\n")


@pytest.mark.parametrize(
    ("figures", "headline"),
    [
        ({"brokers": 3, "name_servers": 2}, "Nothing is wrong: the name servers agreed, and no broker was lost."),
        (
            {"brokers": 3, "name_servers": 1},
            "No broker was lost. Routes were not compared: there is the journal of one name server only.",
        ),
        ({"brokers": 0, "name_servers": 3}, "Nothing was found: no broker registered."),
    ],
)
def test_a_headline_does_not_praise_what_was_not_there(figures: dict[str, int], headline: str) -> None:
    assert markdown(replace(empty(), figures=figures)).startswith(f"# {headline}\n")
