"""What an alert says of names from the network. No Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.saying import speaking
from rocketns.pipeline.stream.changes import Condition, changes
from rocketns.pipeline.stream.conditions import divergence, kills, losses, partition, silences
from rocketns.pipeline.stream.servers import Boot, Servers

BROKER, TOPIC = "\x1b[2J is fine", "t\u202e" + "x" * 100_000


def test_the_words_of_a_partition_are_harmless_and_its_details_exact() -> None:
    row = {"ns": "n2", "cluster": "c", "broker": BROKER, "bid": 0, "addr": "1.2.3.4:5\x07", "cause": "late",
           "by": ["n1"], "since": 7}  # fmt: skip
    told = partition(row)
    assert told.text == ("n2 does not hear “\\x1b[2J is fine” at 1.2.3.4:5\\x07, but n1 does (its heartbeat is late)")
    assert told.details["broker"] == BROKER


def test_the_words_of_a_divergence_are_harmless_and_its_details_exact() -> None:
    row = {"broker": BROKER, "cause": "expired", "t1": 7, "t2": 9, "open": True, "topics": 1, "user_topics": 1,
           "topic_sample": [TOPIC], "ns_without": ["n2"], "opened_by": ["n2"]}  # fmt: skip
    told = divergence(row)
    assert told.text.startswith(
        "name servers disagree about 1 user topic of “\\x1b[2J is fine” (expired, n2 without it at first): t\\u202e"
    )
    assert visible(told.text) == told.text
    assert len(told.text) < 300
    assert told.details["topic_sample"] == [TOPIC]


@pytest.mark.parametrize(
    ("users", "sample", "words"),
    [
        (2, ["a", "b", "TBW102"], "about 2 user topics of b-1 (expired): a, b"),
        (0, ["TBW102", "b-1"], "about 3 topics of the system or of consumer groups of b-1 (expired): TBW102, b-1"),
    ],
)
def test_a_divergence_names_topics_of_users_as_far_as_there_are_any(users: int, sample: list[str], words: str) -> None:
    row = {"broker": "b-1", "cause": "expired", "t1": 7, "t2": 9, "open": True, "topics": 3, "user_topics": users,
           "topic_sample": sample, "ns_without": [], "opened_by": ["n2"]}  # fmt: skip
    told = divergence(row)
    assert told.text == f"name servers disagree {words}"
    assert (told.details["topics"], told.details["user_topics"], told.details["topic_sample"]) == (3, users, sample)


@pytest.mark.parametrize(
    ("lost", "corrupt", "words"),
    [(1, 0, "lost 1 record"), (0, 2, "has 2 lines that could not be read"),
     (14, 1, "lost 14 records and has 1 line that could not be read")],
)  # fmt: skip
def test_a_loss_names_only_what_was_lost(lost: int, corrupt: int, words: str) -> None:
    (told,) = losses([{"ns": "n2", "lost": lost, "corrupt": corrupt}], Servers((), frozenset(), 0, 9))
    assert told.text == f"the journal of n2 {words}. Their content is not known"


def test_a_journal_that_nobody_writes_any_more_says_nothing_of_the_name_server() -> None:
    boot = Boot("n1", 1, 1, None, 2, True, None, observed=True)
    (silent,) = silences(Servers((boot,), frozenset({"n1"}), 1, 5))
    assert "nobody watches it any more, or its files do not arrive" in silent.text
    assert "down" not in silent.text


def test_the_end_of_watching_is_no_kill() -> None:
    first, second = (Boot("n1", number, 1, None, 2, True, None, observed=True) for number in (1, 2))
    assert kills(Servers((first, second), frozenset(), 1, 5), [first]) == []
    ends = [span.end_cause for span in Servers((first, second), frozenset(), 1, 5).uptime()]
    assert ends == ["unwatched", "open"]


def one_of_each() -> list[Condition]:
    """A condition of each text, with names that have no letters."""
    gone = {"ns": "1", "cluster": "2", "broker": "3", "bid": 0, "addr": "4:5", "by": ["6"], "since": 7}
    differs: Mapping[str, Any] = {
        "broker": "3", "t1": 7, "t2": 9, "topics": 2, "topic_sample": ["8", "9"], "opened_by": ["1"], "cause": "0"
    }  # fmt: skip
    watched, running = (Boot("1", 1, 1, None, 2, True, None, observed=observed) for observed in (True, False))
    again = running._replace(boot=2)
    return [
        *(partition({**gone, "cause": cause}) for cause in ("late", "0")),
        *(divergence({**differs, "user_topics": users, "open": users > 0, "ns_without": without})
          for users, without in ((2, []), (0, ["1"]))),
        *(silences(Servers((boot,), frozenset({"1"}), 1, 5))[0] for boot in (watched, running)),
        *kills(Servers((running, again), frozenset(), 1, 5), [running]),
        *losses([{"ns": "1", "lost": lost, "corrupt": corrupt} for lost, corrupt in ((1, 0), (0, 1), (1, 1))],
                Servers((), frozenset(), 0, 9)),
    ]  # fmt: skip


@pytest.mark.usefixtures("chinese")
def test_what_people_read_of_an_alert_is_chinese() -> None:
    made = one_of_each()
    said = [*(one.text for one in made), *(one.over[1] for one in made if one.over)]
    assert [text for text in said if re.search(r"[A-Za-z]{2,}", text) or not re.search(r"[\u4e00-\u9fff]", text)] == []


@pytest.mark.usefixtures("chinese")
def test_what_programs_read_of_an_alert_is_the_same_in_every_language() -> None:
    lines = changes([], one_of_each(), {}, 10).lines
    with speaking("en"):
        english = changes([], one_of_each(), {}, 10).lines
    read = [{name: value for name, value in line.items() if name not in ("text", "reason")} for line in lines]
    assert read == [{name: line[name] for name in line if name not in ("text", "reason")} for line in english]
