"""A pair that differs is settled by what both servers say later, or counts."""

from __future__ import annotations

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import decode
from rocketns.shadow.frames import ReadRequest
from rocketns.shadow.judging import (
    ASK_AFTER_S,
    REGISTERED_AGAIN_S,
    REQUEST_BYTES_MAX,
    Judge,
    Waiting,
    examine,
    examine_again,
    may_be_asked_again,
    question_of,
    text_of,
    with_opaque,
)
from rocketns.shadow.pairs import Counts, Outcome, Pair
from tests.shadow.frames import NOW_MS, answer, pair, request, route

HERE, THERE, ELSEWHERE = answer(route("a")), answer(route("b")), answer(route("c"))
SETTLE_S = 60.0
ASKED = b"asked again"


def judge() -> Judge:
    """Its own half is warm at NOW_MS."""
    made = Judge(SETTLE_S)
    made.begin(NOW_MS - SETTLE_S * 1000)
    return made


def count(judging: Judge, one: Pair) -> Outcome | None:
    (judged,) = examine([one])
    return judging.count(one, judged, 0.0)


def numbers(counts: Counts) -> dict[Outcome, int]:
    return {one: counts.of(one) for one in Outcome if counts.of(one)}


def due(judging: Judge) -> Waiting:
    (found,) = judging.questions.pop_due(ASK_AFTER_S)
    return found


def settle(judging: Judge, upstream: bytes, own: bytes) -> Outcome:
    waiting = due(judging)
    pair = waiting.pair._replace(at_ms=NOW_MS + 1000, upstream=upstream, own=own)
    return judging.settle(waiting, pair, examine_again(pair))


def test_a_read_that_differs_is_asked_again_after_a_second_and_not_before() -> None:
    judging = judge()
    assert count(judging, pair(HERE, THERE)) is None
    assert list(judging.questions.pop_due(ASK_AFTER_S - 0.01)) == []
    assert due(judging).pair.request == request()
    assert numbers(judging.counts) == {}


def test_what_is_the_same_when_it_is_asked_again_is_settled() -> None:
    judging = judge()
    count(judging, pair(HERE, THERE))
    assert settle(judging, upstream=THERE, own=THERE) is Outcome.SETTLED
    assert judging.counts.unwanted == 0


def test_what_still_differs_is_different_and_kept_with_what_was_answered_then() -> None:
    judging = judge()
    count(judging, pair(HERE, THERE))
    assert settle(judging, upstream=HERE, own=ELSEWHERE) is Outcome.DIFFERENT
    (sample,) = judging.counts.samples
    assert sample.pair is not None
    assert (sample.pair.own, sample.at_ms) == (ELSEWHERE, NOW_MS + 1000)
    assert sample.request == "GET_ROUTEINFO_BY_TOPIC topic=T"
    assert sample.differences[0].path == "body.brokerDatas[a]"


def test_pairs_with_the_same_question_are_asked_once_and_counted_each() -> None:
    judging = judge()
    for opaque in range(3):
        count(judging, pair(HERE, THERE, request(opaque=opaque)))
    assert len(judging.questions) == 1
    settle(judging, upstream=HERE, own=THERE)
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 3}
    assert [one.times for one in judging.counts.samples] == [3]


WRITES = [104, 904, 322, 100, 102, 205, 216, 217, 318, 327]


@pytest.mark.parametrize("code", [*WRITES, RequestCode.GET_TOPICS_BY_CLUSTER, 21070, 9999])
def test_writes_heartbeats_and_costly_reads_are_never_asked_again(code: int) -> None:
    judging = judge()
    count(judging, pair(answer(extFields={"x": "1"}), answer(extFields={"x": "2"}), request(code)))
    assert len(judging.questions) == 0
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 1}


def test_a_write_whose_answer_came_late_and_differs_is_late() -> None:
    judging = judge()
    assert count(judging, pair(answer(code=1), answer(), request(104), own_ms=1002.0)) is Outcome.LATE
    assert count(judging, pair(answer(code=1), answer(), request(104), own_ms=1001.0)) is Outcome.DIFFERENT


def test_what_differs_before_brokers_registered_does_not_count() -> None:
    judging = Judge(SETTLE_S)
    assert count(judging, pair(HERE, THERE)) is Outcome.WARMING
    judging.begin(NOW_MS)
    almost = pair(HERE, THERE, at_ms=NOW_MS + int(SETTLE_S * 1000) - 1)
    assert count(judging, almost) is Outcome.WARMING
    assert count(judging, almost._replace(at_ms=almost.at_ms + 1)) is None


def registration(upstream: bytes, own: bytes, broker: str = "a", body: bytes = b"") -> Pair:
    return pair(upstream, own, request(103, {"brokerName": broker, "clusterName": "C"}, body))


@pytest.mark.parametrize(("times", "outcome"), [(1, Outcome.SETTLED), (2, Outcome.DIFFERENT)])
def test_a_registration_that_differs_once_is_a_race_and_one_that_differs_again_is_not(
    times: int, outcome: Outcome
) -> None:
    judging = judge()
    for _ in range(times):
        assert count(judging, registration(HERE, THERE)) is None
    judging.settle_registrations(REGISTERED_AGAIN_S - 0.01)
    assert numbers(judging.counts) == {}
    judging.settle_registrations(REGISTERED_AGAIN_S)
    assert numbers(judging.counts) == {outcome: times}
    assert [(one.times, one.pair) for one in judging.counts.samples] == (
        [] if times == 1 else [(2, registration(HERE, THERE))]
    )


def test_registrations_of_two_brokers_are_two_questions_and_large_ones_are_kept_without_frames() -> None:
    judging = judge()
    large = registration(HERE, THERE, "b", b"x" * REQUEST_BYTES_MAX)
    for one in (registration(HERE, THERE), large, large):
        count(judging, one)
    judging.settle_registrations(REGISTERED_AGAIN_S)
    assert numbers(judging.counts) == {Outcome.SETTLED: 1, Outcome.DIFFERENT: 2}
    assert [one.pair for one in judging.counts.samples] == [None]


FIELDS = {"topic": "T", "Signature": "s3cret", "AccessKey": "key"}
FORMS = (
    frame(json_header(105, FIELDS, opaque=7), b"body"),
    frame(binary_header(105, FIELDS, opaque=7), b"body", ROCKETMQ),
)


def test_only_the_opaque_changes_in_both_encodings() -> None:
    for one in FORMS:
        before, after = decode(one), decode(with_opaque(one, 123_456))
        assert after.opaque == 123_456
        before.opaque = after.opaque
        assert after == before


def test_requests_that_differ_only_in_their_opaque_are_one_question() -> None:
    for one in FORMS:
        assert question_of(with_opaque(one, 9)) == question_of(one)
    assert question_of(FORMS[0]) != question_of(FORMS[1])
    assert question_of(request(ext={"topic": "a"})) != question_of(request(ext={"topic": "b"}))


def test_a_request_whose_opaque_cannot_be_told_or_that_wants_no_answer_is_not_asked_again() -> None:
    assert may_be_asked_again(ReadRequest(FORMS[0]))
    assert may_be_asked_again(ReadRequest(FORMS[1]))
    assert not may_be_asked_again(ReadRequest(frame(json_header(105, {"topic": "T"}).replace(b'"opaque":1,', b""))))
    assert not may_be_asked_again(
        ReadRequest(frame(json_header(105, {"topic": "T"}).replace(b"{", b'{"opaque":1,', 1)))
    )
    assert not may_be_asked_again(ReadRequest(frame(json_header(105, {"topic": "T"}, flag=2))))
    assert not may_be_asked_again(ReadRequest(b"no frame"))


def test_a_request_is_shown_without_what_signs_it() -> None:
    assert text_of(ReadRequest(FORMS[0])) == "GET_ROUTEINFO_BY_TOPIC topic=T"
    assert text_of(ReadRequest(request(4321))) == "request 4321 topic=T"
    assert text_of(ReadRequest(b"")) == "unreadable"
