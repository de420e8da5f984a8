"""What becomes of a pair that differs: asked again after a second, settled, noise, late, or different."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.protocol.codes import RequestCode
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.telling import TOLD_KEPT_MAX
from rocketns.shadow.judge import waiting
from rocketns.shadow.judge.judging import Judge
from rocketns.shadow.judge.questions import Again
from rocketns.shadow.judge.waiting import ASK_AFTER_S, Waiting
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import own_began
from tests.shadow.frames import NOW_MS, answer, pair, request, route

HERE, THERE, ELSEWHERE = answer(route("a")), answer(route("b")), answer(route("c"))
SETTLE_S = 60.0
ASKED = b"asked again"


def judge() -> Judge:
    """Its own half is warm at NOW_MS."""
    made = Judge(SETTLE_S)
    made.take(own_began(NOW_MS - int(SETTLE_S * 1000), "127.0.0.1:9000"), 0.0)
    return made


def numbers(counts: Counts) -> dict[Outcome, int]:
    return {one: counts.of(one) for one in Outcome if counts.of(one)}


def due(judging: Judge, now_s: float = ASK_AFTER_S) -> Waiting:
    found = judging.questions.take_due(now_s)
    assert found is not None
    return found


def settle(judging: Judge, **again: Any) -> Outcome:
    return judging.settle(due(judging), Again(**{"request": request()} | again), NOW_MS + 1000)


def test_answers_that_are_equal_but_for_order_are_counted_at_once() -> None:
    judging = judge()
    assert judging.take(pair(answer(route("a", "b")), answer(route("b", "a"))), 0.0) is Outcome.ORDER
    assert numbers(judging.counts) == {Outcome.ORDER: 1}


def test_a_read_that_differs_is_asked_again_after_a_second_and_not_before() -> None:
    judging = judge()
    assert judging.take(pair(HERE, THERE), 0.0) is None
    assert judging.questions.take_due(ASK_AFTER_S - 0.01) is None
    assert due(judging).pair.request == request()
    assert numbers(judging.counts) == {}


def test_what_is_the_same_when_it_is_asked_again_is_settled() -> None:
    judging = judge()
    judging.take(pair(HERE, THERE), 0.0)
    assert settle(judging, upstream=THERE, own=THERE) is Outcome.SETTLED
    assert judging.counts.unwanted == 0


def test_what_still_differs_is_different_and_kept_with_what_was_answered_then() -> None:
    judging = judge()
    judging.take(pair(HERE, THERE), 0.0)
    assert settle(judging, upstream=HERE, own=ELSEWHERE) is Outcome.DIFFERENT
    (kept,) = judging.counts.samples
    assert kept.pair is not None
    assert (kept.pair.own, kept.at_ms, kept.request) == (ELSEWHERE, NOW_MS + 1000, "GET_ROUTEINFO_BY_TOPIC topic=T")
    assert kept.differences[0].path == "body.brokerDatas[a]"


def test_pairs_with_the_same_question_are_asked_once_and_counted_each() -> None:
    judging = judge()
    for opaque in range(3):
        judging.take(pair(HERE, THERE, request(opaque=opaque)), 0.0)
    assert len(judging.questions) == 1
    settle(judging, upstream=HERE, own=THERE)
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 3}
    assert [one.times for one in judging.counts.samples] == [3]


def test_an_answer_that_was_missing_is_asked_again_too() -> None:
    judging = judge()
    judging.take(pair(HERE, None, own_ms=None), 0.0)
    assert settle(judging, upstream=HERE, own=HERE) is Outcome.SETTLED


def test_a_difference_that_nobody_can_be_asked_about_counts_as_it_was() -> None:
    judging = judge()
    judging.take(pair(HERE, None, own_ms=None), 0.0)
    assert settle(judging, failure="connection refused") is Outcome.MISSING
    (kept,) = judging.counts.samples
    assert kept.note == "it could not be asked again: connection refused"


@pytest.mark.parametrize(
    ("reference", "outcome"),
    [
        (answer(route("a") | {"brokerDatas": []}), Outcome.DIFFERENT),
        (HERE, Outcome.DIFFERENT),
        (ELSEWHERE, Outcome.DIFFERENT),
        (THERE, Outcome.NOISE),
        (answer(route("b", "c")), Outcome.NOISE),
        (None, Outcome.DIFFERENT),
    ],
)
def test_where_the_two_others_differ_wherever_rocketns_does_it_is_noise(
    reference: bytes | None, outcome: Outcome
) -> None:
    """rocketns lacks broker a and has broker b."""
    judging = judge()
    judging.take(pair(HERE, THERE), 0.0)
    assert settle(judging, upstream=HERE, own=THERE, reference=reference) is outcome


WRITES = [103, 104, 904, 322, 100, 102, 205, 216, 217, 318, 327]


@pytest.mark.parametrize("code", [*WRITES, RequestCode.GET_TOPICS_BY_CLUSTER, 21070, 9999])
def test_writes_heartbeats_and_costly_reads_are_never_asked_again(code: int) -> None:
    judging = judge()
    judging.take(pair(answer(extFields={"x": "1"}), answer(extFields={"x": "2"}), request(code)), 0.0)
    assert len(judging.questions) == 0
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 1}


def test_a_write_whose_answer_came_late_and_differs_is_late() -> None:
    judging = judge()
    assert judging.take(pair(answer(code=1), answer(), request(103), own_ms=1002.0), 0.0) is Outcome.LATE
    assert judging.take(pair(answer(code=1), answer(), request(103), own_ms=1001.0), 0.0) is Outcome.DIFFERENT


def test_an_answer_of_rocketns_that_comes_late_is_counted_although_it_is_right() -> None:
    judging = judge()
    late = pair(answer(route("a", "b")), answer(route("b", "a")), own_ms=5000.0)
    assert judging.take(late, 0.0) is Outcome.LATE
    assert judging.take(late._replace(own_ms=1.0, upstream_ms=5000.0), 0.0) is Outcome.ORDER


def test_what_differs_before_brokers_registered_does_not_count() -> None:
    judging = Judge(SETTLE_S)
    assert judging.take(pair(HERE, THERE), 0.0) is Outcome.WARMING
    judging.take(own_began(NOW_MS, "127.0.0.1:9000"), 0.0)
    almost = pair(HERE, THERE, at_ms=NOW_MS + int(SETTLE_S * 1000) - 1)
    assert judging.take(almost, 0.0) is Outcome.WARMING
    assert judging.take(almost._replace(at_ms=almost.at_ms + 1), 0.0) is None


def test_a_half_that_was_started_again_is_cold_again() -> None:
    judging = judge()
    judging.take(own_began(NOW_MS, "127.0.0.1:9001"), 0.0)
    assert judging.take(pair(HERE, THERE), 0.0) is Outcome.WARMING
    assert judging.own_addr == "127.0.0.1:9001"


def test_more_questions_than_there_is_room_for_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WAITING_MAX", 2)
    judging = judge()
    for name in "abc":
        judging.take(pair(HERE, THERE, request(ext={"topic": name})), 0.0)
    assert (len(judging.questions), judging.counts.skipped) == (2, 1)


def test_a_request_too_large_to_keep_is_judged_by_its_answers() -> None:
    judging = judge()
    assert judging.take(pair(HERE, THERE, request(ext={"topic": "T" * 70_000})), 0.0) is Outcome.DIFFERENT


def test_a_listed_difference_is_counted_by_its_id() -> None:
    judging = judge()
    judging.take(pair(answer(code=3), answer(), request(21070)), 0.0)
    assert judging.counts.listed == {"route-digests": 1}


def test_clients_and_releases_are_counted_by_name() -> None:
    judging = judge()
    judging.take(pair(HERE, HERE), 0.0)
    judging.take(pair(answer(version=475), HERE, b"garbage, and no frame"), 0.0)
    assert judging.counts.clients == {"JAVA 5.5.0": 1, "unreadable": 1}
    assert judging.counts.releases == {"5.5.0": 1, "5.3.1": 1}


def test_kept_pairs_that_find_no_room_in_a_message_are_told_in_the_next() -> None:
    judging = judge()
    for number in range(TOLD_KEPT_MAX + 3):
        judging.take(pair(answer(code=1), answer(), request(103, {"n": str(number)})), 0.0)
    assert [len(judging.take_counts().samples) for _ in range(3)] == [TOLD_KEPT_MAX, 3, 0]
