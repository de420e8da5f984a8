"""What was seen from outside, on the page and beside it: between which moments, what the broker said, what nobody
knows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.incidents.model import Incident, Kind, State
from rocketns.pipeline.report.beside.lines import json_lines
from rocketns.pipeline.report.beside.markdown import markdown
from rocketns.pipeline.report.cards import cards, when
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.words.advice import first
from rocketns.pipeline.report.words.clocks import clock_notes, known_to
from rocketns.pipeline.report.words.outside import outside_notes
from rocketns.pipeline.report.words.titles import title
from tests.pipeline.report.incident_tables import S, boot, broken, departure, differ, listed, up
from tests.pipeline.report.report_sample import sample
from tests.pipeline.report.test_report_words import MINUTE, OVER, T1

SEEN = replace(OVER, cause="observed", t1_early=5 * S, t2_early=30 * S)
CUT = (1_000, 3_340)


def watched(ns: str, t1: int, t2: int, end_cause: str = "open", number: int = 1) -> dict[str, Any]:
    return boot(ns, t1, t2, end_cause, number) | {"observed": True}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (SEEN, "it began between 09:01:55 and 09:02:00 and ended between 09:40:30 and 09:41:00"),
        (replace(SEEN, t2_early=0), "it began between 09:01:55 and 09:02:00"),
        (replace(SEEN, going_on=True), "it began between 09:01:55 and 09:02:00"),
        (replace(SEEN, before=True), "it ended between 09:40:30 and 09:41:00"),
        (replace(SEEN, t1_early=24 * 60 * MINUTE, t2_early=0), "it began between 2026-08-02 09:02:00 and 09:02:00"),
    ],
)
def test_when_says_between_which_moments_it_came(one: Incident, said: str) -> None:
    assert when(one).endswith(f"; seen from outside: {said}")


def test_what_is_exact_to_a_second_says_nothing_of_it() -> None:
    assert when(replace(SEEN, t1_early=999_999, t2_early=0)) == when(OVER)


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        ((), "From outside it is not visible why it went"),
        (("answered",), "network between broker-b and n2: the broker itself answered"),
        (("refused",), "process of broker-b: its address refused a connection"),
        (("answered", "silent"), "From outside it is not visible why it went"),
    ],
)
def test_what_the_broker_said_decides_what_to_look_at(asked: tuple[str, ...], advised: str) -> None:
    assert advised in first(replace(SEEN, asked=asked))


def test_a_broker_that_is_gone_everywhere_has_no_cause() -> None:
    one = replace(SEEN, kind=Kind.GONE, ns=("n1", "n2", "n3"))
    assert title(one, T1) == "broker-b disappeared at 09:02 and was away for 39 min"
    assert "whether it stopped or was lost" in first(one)
    assert "did not answer" in first(replace(one, asked=("silent",)))


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


def test_an_observed_departure_from_everywhere_is_one_incident_with_what_the_broker_said() -> None:
    rows = [row | {"asked": "refused", "t2_early": 5 * S} for ns in ("n1", "n2") for row in
            broken(ns, "b", CUT, cause="observed")]  # fmt: skip
    back = [row | {"t1_early": 7 * S} for row in rows if row["t1"] == CUT[1] * S]
    went = departure("b", "observed", CUT[0], CUT[0], ["n1", "n2"]) | {"asked": ["refused"], "t1_early": 5 * S}
    (one,) = listed(
        ns_uptime=[watched(ns, 0, 10_000) for ns in ("n1", "n2")],
        broker_intervals=[*(row for row in rows if row["t1"] != CUT[1] * S), *back], departures=[went],
    )  # fmt: skip
    assert (one.kind, one.cause, one.asked, one.t1_early, one.t2_early) == (
        Kind.GONE, "observed", ("refused",), 5 * S, 7 * S,
    )  # fmt: skip


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
    n1, n2, unknown = notes["quality"]
    assert "a change of brokers to 5 s and for a change of topics to 3 min 20 s, at worst" in n1
    assert "not watched for 1 min in between" in n1
    assert n2 == "n2 was watched from outside, by rocketns collect or the like."
    assert "never called an expiry or a graceful stop" in unknown
    assert notes["topics"] == ["n1, n2: no lookup is visible from outside, so no topic is called dead."]
    assert outside_notes(sources[2:], uptime) == {}


def test_notes_say_whose_topics_are_not_compared() -> None:
    uptime = [watched("n1", 0, 100) | {"no_topics": True}, watched("n2", 0, 100)]
    notes = outside_notes([{"ns": ns, "observed": True} for ns in ("n1", "n2")], uptime)
    (note,) = notes["divergence"]
    assert note.startswith("n1 did not list topics (enableAllTopicList=false)")
    assert note in notes["topics"]
    assert note in notes["quality"]


def test_the_notes_are_on_the_page() -> None:
    data = replace(sample(), notes=outside_notes([{"ns": "n1", "observed": True}], []))
    shown = render(data)
    assert "n1 was watched from outside" in shown
    assert "no client is visible from outside" in shown


def test_a_name_server_that_nobody_watches_is_drawn_so() -> None:
    whole = sample()
    rows = [row | {"observed": True} for row in whole["ns_uptime"].rows]
    shown = render(replace(whole, tables={**whole.tables, "ns_uptime": Table.of(rows)}))
    assert '"unwatched","not watched"' in shown.replace(", ", ",")


@pytest.mark.parametrize(
    ("uncertainty", "said"),
    [(0, "as the only clock: the observer's"), (5 * S, "to 5 s"), (None, "not at all")],
)
def test_how_well_the_clock_of_an_observer_is_known(uncertainty: int | None, said: str) -> None:
    assert known_to("observed", uncertainty) == said


def test_a_note_says_whose_clock_nothing_relates_to_the_others() -> None:
    rows = [{"ns": ns, "method": "observed", "uncertainty": None} for ns in ("n1", "n2")]
    (note,) = clock_notes([*rows, {"ns": "n3", "method": "observed", "uncertainty": 5 * S}])
    assert note.startswith("The times of n1, n2 are those of the machine that watched them.")
    assert "taken to be off by 10 min at most" in note
