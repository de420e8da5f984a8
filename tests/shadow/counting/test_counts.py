"""Numbers add up, whatever is told in between, and nothing grows with what peers send."""

from __future__ import annotations

import struct

import pytest

from rocketns.shadow.counting import kept as keeping
from rocketns.shadow.counting.counts import NAMES_MAX, OTHERS, Counts
from rocketns.shadow.counting.kept import KEPT_MAX, PAIR_KEPT_BYTES_MAX, Samples
from rocketns.shadow.counting.telling import TOLD_BYTES_MAX, Listening, told
from rocketns.shadow.outcome import Outcome
from tests.shadow.counting.builders import PAIR, kept


def some() -> Counts:
    counts = Counts(skipped=3)
    counts.add(105, Outcome.EQUAL, 10)
    counts.add(106, Outcome.ORDER)
    counts.add_unwanted(105, Outcome.DIFFERENT, kept())
    counts.listed["limits"] += 1
    counts.add_client("GO 401")
    counts.add_release("5.5.0")
    return counts


def test_told_counts_are_heard_as_they_were_however_the_bytes_are_cut() -> None:
    listening, data = Listening(), told(some()) + told(Counts())
    found = [counts for start in range(0, len(data), 7) for counts in listening.feed(data[start : start + 7])]
    assert found == [some(), Counts()]


def test_counts_that_are_told_in_parts_add_up() -> None:
    whole = some()
    whole.merge(some())
    assert whole.of(Outcome.EQUAL) == 20
    assert (whole.judged, whole.unwanted, whole.skipped) == (24, 2, 6)
    assert [one.times for one in whole.samples] == [2]


def test_what_differs_while_brokers_register_is_neither_judged_nor_unwanted() -> None:
    counts = Counts()
    counts.add(105, Outcome.WARMING)
    assert (counts.judged, counts.unwanted) == (0, 0)


def test_the_request_that_differs_most_is_first_and_then_the_most_frequent() -> None:
    counts = some()
    counts.add(206, Outcome.EQUAL, 50)
    assert [name for name, _ in counts.by_request()] == [
        "GET_ROUTEINFO_BY_TOPIC", "GET_ALL_TOPIC_LIST_FROM_NAMESERVER", "GET_BROKER_CLUSTER_INFO",
    ]  # fmt: skip


def test_codes_and_names_that_peers_choose_do_not_add_rows_without_end() -> None:
    counts = Counts()
    for number in range(1000):
        counts.add(20_000 + number, Outcome.EQUAL)
        counts.add_client(f"client {number}")
    assert list(counts.outcomes) == [("unknown", Outcome.EQUAL)]
    assert len(counts.clients) == NAMES_MAX + 1
    assert counts.clients[OTHERS] == 1000 - NAMES_MAX


def test_the_first_questions_are_kept_and_the_others_counted() -> None:
    samples = Samples()
    for number in range(KEPT_MAX + 5):
        samples.add(kept(f"q{number}"))
    assert (len(samples), samples.more) == (KEPT_MAX, 5)


def test_a_pair_that_is_too_large_is_kept_without_its_frames() -> None:
    samples = Samples()
    samples.add(kept(pair=PAIR._replace(upstream=bytes(PAIR_KEPT_BYTES_MAX))))
    (one,) = samples
    assert one.pair is None
    assert one.differences


def test_frames_of_all_kept_pairs_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES_MAX", 20)
    samples = Samples()
    for number in range(3):
        samples.add(kept(f"q{number}"))
    assert [one.pair is None for one in samples] == [False, True, True]


@pytest.mark.parametrize("data", [struct.pack(">I", TOLD_BYTES_MAX + 1), struct.pack(">I", 2) + b"{}"])
def test_bytes_of_no_judge_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        Listening().feed(data)
