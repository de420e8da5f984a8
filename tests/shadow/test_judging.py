"""A pair that differs is asked again: settled, noise, late, or different."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import decode
from rocketns.shadow.comparing.cases import ReadRequest
from rocketns.shadow.judging import Judge, all_say_the_same, examine, examine_again
from rocketns.shadow.pairs import Counts, Outcome, Pair
from rocketns.shadow.questions import ASK_AFTER_S, Again, Waiting, may_be_asked_again, question_of, text_of, with_opaque
from tests.shadow.frames import NOW_MS, answer, pair, request, route

HERE, THERE, ELSEWHERE = answer(route("a")), answer(route("b")), answer(route("c"))
SETTLE_S = 60.0
ASKED = b"asked again"


def judge() -> Judge:
    """Its own half is warm at NOW_MS."""
    made = Judge(SETTLE_S)
    made.begin(NOW_MS - SETTLE_S * 1000)
    return made


def take(judging: Judge, one: Pair) -> Outcome | None:
    (judged,) = examine([one])
    return judging.take(one, judged, 0.0)


def numbers(counts: Counts) -> dict[Outcome, int]:
    return {one: counts.of(one) for one in Outcome if counts.of(one)}


def due(judging: Judge, now_s: float = ASK_AFTER_S) -> Waiting:
    found = judging.questions.take_due(now_s)
    assert found is not None
    return found


def settle(judging: Judge, **again: Any) -> Outcome:
    waiting = due(judging)
    pair = waiting.pair._replace(at_ms=NOW_MS + 1000, upstream=again["upstream"], own=again["own"])
    finding, is_noise = examine_again(pair, again.get("reference"))
    return judging.settle(waiting, pair, finding, is_noise=is_noise)


def test_a_read_that_differs_is_asked_again_after_a_second_and_not_before() -> None:
    judging = judge()
    assert take(judging, pair(HERE, THERE)) is None
    assert judging.questions.take_due(ASK_AFTER_S - 0.01) is None
    assert due(judging).pair.request == request()
    assert numbers(judging.counts) == {}


def test_what_is_the_same_when_it_is_asked_again_is_settled() -> None:
    judging = judge()
    take(judging, pair(HERE, THERE))
    assert settle(judging, upstream=THERE, own=THERE) is Outcome.SETTLED
    assert judging.counts.unwanted == 0


def test_what_still_differs_is_different_and_kept_with_what_was_answered_then() -> None:
    judging = judge()
    take(judging, pair(HERE, THERE))
    assert settle(judging, upstream=HERE, own=ELSEWHERE) is Outcome.DIFFERENT
    (kept,) = judging.counts.samples
    assert kept.pair is not None
    assert (kept.pair.own, kept.at_ms, kept.request) == (ELSEWHERE, NOW_MS + 1000, "GET_ROUTEINFO_BY_TOPIC topic=T")
    assert kept.differences[0].path == "body.brokerDatas[a]"


def test_pairs_with_the_same_question_are_asked_once_and_counted_each() -> None:
    judging = judge()
    for opaque in range(3):
        take(judging, pair(HERE, THERE, request(opaque=opaque)))
    assert len(judging.questions) == 1
    settle(judging, upstream=HERE, own=THERE)
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 3}
    assert [one.times for one in judging.counts.samples] == [3]


@pytest.mark.parametrize(
    ("reference", "outcome"),
    [
        (answer(route("a") | {"brokerDatas": []}), Outcome.DIFFERENT),
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
    take(judging, pair(HERE, THERE))
    assert settle(judging, upstream=HERE, own=THERE, reference=reference) is outcome


WRITES = [103, 104, 904, 322, 100, 102, 205, 216, 217, 318, 327]


@pytest.mark.parametrize("code", [*WRITES, RequestCode.GET_TOPICS_BY_CLUSTER, 21070, 9999])
def test_writes_heartbeats_and_costly_reads_are_never_asked_again(code: int) -> None:
    judging = judge()
    take(judging, pair(answer(extFields={"x": "1"}), answer(extFields={"x": "2"}), request(code)))
    assert len(judging.questions) == 0
    assert numbers(judging.counts) == {Outcome.DIFFERENT: 1}


def test_a_write_whose_answer_came_late_and_differs_is_late() -> None:
    judging = judge()
    assert take(judging, pair(answer(code=1), answer(), request(103), own_ms=1002.0)) is Outcome.LATE
    assert take(judging, pair(answer(code=1), answer(), request(103), own_ms=1001.0)) is Outcome.DIFFERENT


def test_what_differs_before_brokers_registered_does_not_count() -> None:
    judging = Judge(SETTLE_S)
    assert take(judging, pair(HERE, THERE)) is Outcome.WARMING
    judging.begin(NOW_MS)
    almost = pair(HERE, THERE, at_ms=NOW_MS + int(SETTLE_S * 1000) - 1)
    assert take(judging, almost) is Outcome.WARMING
    assert take(judging, almost._replace(at_ms=almost.at_ms + 1)) is None


OLD, NEW = {"T": "a:4"}, {"T": "a:8"}
MASTER = {"masterAddr": "10.0.0.1:10911", "haServerAddr": "10.0.0.1:10912"}
SLAVE = {"brokerName": "a", "brokerAddr": "10.0.0.2:10911", "clusterName": "C", "brokerId": "1"}


def warm_judge() -> Judge:
    """Its own half is warm."""
    made = Judge(0.0)
    made.begin(NOW_MS)
    return made


def registered(items: dict[str, str] | None = None, code: int = 0, **ext: str) -> bytes:
    """An answer to 103."""
    return answer(b"" if items is None else {"table": items}, code, extFields=ext)


def registration(upstream: bytes, own: bytes, body: bytes = b"", **fields: Any) -> Pair:
    return pair(upstream, own, request(103, SLAVE, body), **fields)


def due_after_a_second(judging: Judge) -> Waiting:
    assert judging.questions.take_due(ASK_AFTER_S - 0.01) is None
    found = judging.questions.take_due(ASK_AFTER_S)
    assert found is not None
    return found


def settle_registration(judging: Judge, *said: tuple[bytes, bytes], now_ms: int = NOW_MS + 1000) -> Outcome:
    """What both servers say to each request that is asked instead."""
    waiting = due_after_a_second(judging)
    found = [Again(asks, *both) for asks, both in zip(waiting.judged.asks, said, strict=True)]
    is_same = all_say_the_same(found, waiting.judged.broker[1], now_ms)
    return judging.settle_registration(waiting, now_ms, is_same=is_same)


def asks(judging: Judge) -> list[tuple[int, dict[str, str | None] | None]]:
    commands = [decode(one) for one in due_after_a_second(judging).judged.asks]
    return [(one.code, one.ext_fields) for one in commands]


@pytest.mark.parametrize(
    ("upstream", "own", "asked"),
    [
        (registered(OLD), registered(NEW), [219]),
        (registered(NEW, **MASTER), registered(NEW), [106]),
        (registered(OLD), registered(NEW, **MASTER), [219, 106]),
    ],
)
def test_it_is_asked_for_what_differs_after_a_second(upstream: bytes, own: bytes, asked: list[int]) -> None:
    judging = warm_judge()
    assert take(judging, registration(upstream, own)) is None
    found = asks(judging)
    assert [code for code, _ in found] == asked
    assert (219, {"namespace": "ORDER_TOPIC_CONFIG"}) in found or 219 not in asked


@pytest.mark.parametrize(
    ("upstream", "own"),
    [
        (registered(NEW, code=1), registered(OLD)),
        (registered(NEW, **MASTER), registered(NEW, **MASTER | {"haServerAddr": "10.0.0.9:2"})),
        (registered(NEW, other="1"), registered(OLD)),
        (answer(b"no table", extFields={}), registered(OLD)),
    ],
)
def test_anything_else_that_differs_is_different_at_once(upstream: bytes, own: bytes) -> None:
    judging = warm_judge()
    assert take(judging, registration(upstream, own)) is Outcome.DIFFERENT


def test_items_that_both_have_a_second_later_settle_it() -> None:
    judging = warm_judge()
    take(judging, registration(registered(OLD), registered(NEW)))
    now = answer({"table": NEW})
    assert settle_registration(judging, (now, now)) is Outcome.SETTLED
    assert (judging.counts.of(Outcome.SETTLED), judging.counts.unwanted) == (1, 0)


def test_servers_that_refuse_in_the_same_way_settle_nothing() -> None:
    said = answer(code=16)
    judging = warm_judge()
    take(judging, registration(registered(OLD), registered(NEW)))
    assert settle_registration(judging, (said, said)) is Outcome.DIFFERENT


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
