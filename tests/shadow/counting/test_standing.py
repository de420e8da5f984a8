"""The verdict comes first, says what differs most, and names no readiness that was not shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.kept import Difference
from rocketns.shadow.counting.standing import MEANINGS, READY_AFTER_MS, Mood, Standing, duration, verdict_on
from rocketns.shadow.counting.summary import exit_status, summary
from rocketns.shadow.outcome import Outcome
from tests.shadow.counting.builders import PAIR, kept

BEGAN_MS = PAIR.at_ms - 1000


def standing(counts: Counts, ran_ms: int = READY_AFTER_MS) -> Standing:
    return Standing(counts, "java:9876", BEGAN_MS, BEGAN_MS + ran_ms)


def equal(number: int) -> Counts:
    counts = Counts()
    counts.add(105, Outcome.EQUAL, number)
    return counts


def test_a_day_without_a_difference_is_ready_to_serve() -> None:
    found = verdict_on(standing(equal(1_234_567)))
    assert (found.mood, found.sentence) == (Mood.GOOD, "0 different of 1,234,567 answers in 24 h; ready to serve")


def test_less_than_a_day_is_not_called_ready() -> None:
    found = verdict_on(standing(equal(12), 1_200_000))
    assert found.sentence == "0 different of 12 answers in 20 min; ready to serve after 24 h without a difference"


def test_pairs_that_were_not_compared_are_part_of_the_verdict() -> None:
    counts = equal(12)
    counts.skipped = 3
    found = verdict_on(standing(counts))
    assert (found.mood, found.sentence) == (
        Mood.WAITING, "0 different of 12 answers in 24 h; 3 more were not compared",
    )  # fmt: skip


def test_nothing_compared_is_no_success() -> None:
    counts = Counts()
    counts.add(105, Outcome.WARMING, 5)
    assert verdict_on(standing(counts, 61_000)).sentence == "no answers were compared in 1 min 1 s"


def test_what_differs_most_is_named_first() -> None:
    counts = equal(1000)
    for number in range(3):
        counts.add_unwanted(105, Outcome.DIFFERENT, kept(request="GET_ROUTEINFO_BY_TOPIC topic=T", times=2 + number))
    counts.add_unwanted(103, Outcome.MISSING, kept("other", request="REGISTER_BROKER", differences=(), note="silent"))
    found = verdict_on(standing(counts, 61_000))
    assert found.sentence == "10 of 1,010 answers in 1 min 1 s differ: 9 different, 1 missing"
    assert found.reasons == (
        "most often GET_ROUTEINFO_BY_TOPIC", "GET_ROUTEINFO_BY_TOPIC topic=T: body.x", "REGISTER_BROKER: silent",
        "the last one 1 min ago",
    )  # fmt: skip


def test_the_exit_status_says_whether_anything_differs() -> None:
    counts = equal(1)
    assert exit_status(standing(counts)) == 0
    counts.add_unwanted(105, Outcome.LATE, kept())
    assert exit_status(standing(counts)) == 1


def test_every_outcome_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Outcome)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 s"), (999, "0 s"), (59_000, "59 s"), (3_600_000, "1 h"), (86_400_000, "24 h"), (90_000_000, "1 d 1 h")],
)
def test_times_have_their_two_largest_units(ms: int, text: str) -> None:
    assert duration(ms) == text


def test_the_summary_has_the_counts_and_what_differs_and_peers_cannot_control_the_terminal() -> None:
    counts = equal(5)
    counts.listed["limits"] += 2
    counts.add_client("GO 4.9.4")
    hostile = "\x1b[2J\r\nT\u202e"
    shown = kept(request=hostile, differences=(Difference("body.a", hostile, ""),), client=hostile, note=hostile)
    counts.add_unwanted(105, Outcome.DIFFERENT, shown)
    text = summary(standing(counts))
    assert text.startswith("1 of 6 answers in 24 h differ")
    assert [line for line in text.splitlines() if line.startswith("GET_ROUTE")] == ["GET_ROUTEINFO_BY_TOPIC  5      1"]
    assert "listed differences: limits 2" in text
    assert "clients: GO 4.9.4 1" in text
    assert r"body.a: the upstream has \x1b[2J\r\nT\u202e, rocketns nothing" in text
    assert not set("\x1b\r\u202e") & set(text)


def test_requests_without_two_answers_are_said_and_are_no_fault() -> None:
    found = replace(standing(Counts()), relay={"left": 3})
    assert "3 requests have nothing to compare: their connection ended" in summary(found)
    assert exit_status(found) == 0
