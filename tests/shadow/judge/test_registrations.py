"""A registration whose answers differ because something changed at that moment is settled by what may be asked."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.protocol.command import decode
from rocketns.shadow.judge import registrations
from rocketns.shadow.judge.judging import Judge
from rocketns.shadow.judge.questions import Again
from rocketns.shadow.judge.waiting import ASK_AFTER_S, Waiting
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair, own_began
from tests.shadow.frames import NOW_MS, answer, pair, request

OLD, NEW = {"T": "a:4"}, {"T": "a:8"}
MASTER = {"masterAddr": "10.0.0.1:10911", "haServerAddr": "10.0.0.1:10912"}
SLAVE = {"brokerName": "a", "brokerAddr": "10.0.0.2:10911", "clusterName": "C", "brokerId": "1"}
BOTH = {"0": "10.0.0.1:10911", "1": "10.0.0.2:10911"}


def judge() -> Judge:
    """Its own half is warm."""
    made = Judge(0.0)
    made.take(own_began(NOW_MS, "127.0.0.1:9000"), 0.0)
    return made


def registered(items: dict[str, str] | None = None, code: int = 0, **ext: str) -> bytes:
    """An answer to 103."""
    return answer(b"" if items is None else {"table": items}, code, extFields=ext)


def registration(upstream: bytes, own: bytes, body: bytes = b"", **fields: Any) -> Pair:
    return pair(upstream, own, request(103, SLAVE, body), **fields)


def brokers(addrs: dict[str, str], others: dict[str, Any] | None = None) -> bytes:
    """An answer to 106."""
    group = {"brokerAddrs": addrs, "brokerName": "a", "cluster": "C", "enableActingMaster": False}
    return answer({"brokerAddrTable": {"a": group} | (others or {}), "clusterAddrTable": {"C": ["a"]}})


def due(judging: Judge) -> Waiting:
    assert judging.questions.take_due(ASK_AFTER_S - 0.01) is None
    found = judging.questions.take_due(ASK_AFTER_S)
    assert found is not None
    return found


def settle(judging: Judge, *said: tuple[bytes, bytes], now_ms: int = NOW_MS + 1000) -> Outcome:
    """What both servers say to each request that is asked instead."""
    waiting = due(judging)
    found = [Again(asks, *both) for asks, both in zip(waiting.asks, said, strict=True)]
    return judging.settle_registration(waiting, found, now_ms)


def asks(judging: Judge) -> list[tuple[int, dict[str, str | None] | None]]:
    commands = [decode(one) for one in due(judging).asks]
    return [(one.code, one.ext_fields) for one in commands]


ITEMS = (219, {"namespace": "ORDER_TOPIC_CONFIG"})


@pytest.mark.parametrize(
    ("upstream", "own", "asked"),
    [
        (registered(OLD), registered(NEW), [219]),
        (registered(), registered(NEW), [219]),
        (registered(NEW, **MASTER), registered(NEW), [106]),
        (registered(NEW, **MASTER), registered(NEW, masterAddr="10.0.0.9:1", haServerAddr="10.0.0.9:2"), [106]),
        (registered(OLD), registered(NEW, **MASTER), [219, 106]),
    ],
)
def test_it_is_asked_for_what_differs_after_a_second(upstream: bytes, own: bytes, asked: list[int]) -> None:
    judging = judge()
    assert judging.take(registration(upstream, own), 0.0) is None
    found = asks(judging)
    assert [code for code, _ in found] == asked
    assert ITEMS in found or 219 not in asked


@pytest.mark.parametrize(
    ("upstream", "own"),
    [
        (registered(NEW, code=1), registered(OLD)),
        (registered(NEW, **MASTER), registered(NEW, **MASTER | {"haServerAddr": "10.0.0.9:2"})),
        (registered(NEW, other="1"), registered(OLD)),
        (answer(b"no table", extFields={}), registered(OLD)),
        (answer({"table": NEW, "more": 1}, extFields={}), registered(OLD)),
        (answer({"table": NEW}, extFields={}, remark="why"), registered(OLD)),
    ],
)
def test_anything_else_that_differs_is_different_at_once(upstream: bytes, own: bytes) -> None:
    judging = judge()
    assert judging.take(registration(upstream, own), 0.0) is Outcome.DIFFERENT


def test_items_that_both_have_a_second_later_settle_it() -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered(NEW)), 0.0)
    now = answer({"table": NEW})
    assert settle(judging, (now, now)) is Outcome.SETTLED
    assert (judging.counts.of(Outcome.SETTLED), judging.counts.unwanted) == (1, 0)


def test_items_that_still_differ_make_it_different_with_the_answers_to_the_registration() -> None:
    judging = judge()
    differing = registration(registered(OLD), registered(NEW))
    judging.take(differing, 0.0)
    assert settle(judging, (answer({"table": OLD}), answer({"table": NEW}))) is Outcome.DIFFERENT
    (kept,) = judging.counts.samples
    assert (kept.pair, kept.differences[0].path) == (differing, "body.table.T")


def test_a_master_that_both_have_a_second_later_settles_it_whatever_else_differs() -> None:
    judging = judge()
    judging.take(registration(registered(NEW, **MASTER), registered(NEW)), 0.0)
    other = {"b": {"brokerAddrs": {}, "brokerName": "b", "cluster": "C"}}
    assert settle(judging, (brokers(BOTH), brokers(dict(reversed(BOTH.items())), other))) is Outcome.SETTLED


def test_a_master_that_one_still_lacks_makes_it_different() -> None:
    judging = judge()
    judging.take(registration(registered(NEW, **MASTER), registered(NEW)), 0.0)
    assert settle(judging, (brokers(BOTH), brokers({"1": BOTH["1"]}))) is Outcome.DIFFERENT


def test_both_questions_have_to_be_settled() -> None:
    judging = judge()
    judging.take(registration(registered(OLD, **MASTER), registered(NEW)), 0.0)
    now = answer({"table": NEW})
    assert settle(judging, (now, now), (brokers(BOTH), brokers({}))) is Outcome.DIFFERENT


@pytest.mark.parametrize("said", [answer(code=16), answer(b"garbage", code=1), b"no frame"])
def test_servers_that_refuse_in_the_same_way_settle_nothing(said: bytes) -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered(NEW)), 0.0)
    assert settle(judging, (said, said)) is Outcome.DIFFERENT


def test_a_namespace_that_is_gone_from_both_settles_it() -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered()), 0.0)
    assert settle(judging, (answer(code=22), answer(code=22))) is Outcome.SETTLED


def test_servers_that_cannot_be_asked_leave_the_difference() -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered(NEW)), 0.0)
    assert judging.settle_registration(due(judging), [Again(failure="refused")], NOW_MS) is Outcome.DIFFERENT
    (kept,) = judging.counts.samples
    assert kept.note == "it could not be asked: refused"


def test_the_same_difference_after_it_was_settled_is_no_race() -> None:
    """The own answers to 103 lack an item, and those to 219 have it."""
    judging = judge()
    differing = registration(registered(NEW), registered({}))
    judging.take(differing, 0.0)
    now = answer({"table": NEW})
    settle(judging, (now, now), now_ms=NOW_MS + 1000)
    assert judging.take(differing._replace(at_ms=NOW_MS + 900), 0.0) is None
    assert judging.take(differing._replace(at_ms=NOW_MS + 30_000), 0.0) is Outcome.DIFFERENT


def test_another_difference_of_the_same_broker_is_asked_too() -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered(NEW)), 0.0)
    now = answer({"table": NEW})
    settle(judging, (now, now))
    assert judging.take(registration(registered(NEW), registered(OLD), at_ms=NOW_MS + 30_000), 0.0) is None


def test_a_large_registration_waits_without_its_frames() -> None:
    judging = judge()
    judging.take(registration(registered(OLD), registered(NEW), body=b"x" * 70_000), 0.0)
    waiting = due(judging)
    assert (waiting.pair.request, waiting.request.frame, waiting.request.body) == (b"", b"", b"")
    judging.settle_registration(waiting, [Again(failure="refused")], NOW_MS)
    (kept,) = judging.counts.samples
    assert (kept.pair, kept.request[:15]) == (None, "REGISTER_BROKER")


def test_settled_registrations_are_remembered_in_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registrations, "EXCUSED_MAX", 1)
    judging = judge()
    for items in (OLD, NEW):
        judging.take(registration(registered(items), registered({})), 0.0)
        settle(judging, (answer({"table": {}}), answer({"table": {}})))
    first = registration(registered(OLD), registered({}), at_ms=NOW_MS + 30_000)
    assert judging.take(first, 0.0) is None


def test_a_late_answer_that_differs_is_late() -> None:
    judging = judge()
    assert judging.take(registration(registered(OLD), registered(NEW), own_ms=5_000.0), 0.0) is Outcome.LATE
