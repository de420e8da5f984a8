"""In which order recorded requests are played, on which connections, and what is found; without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.protocol.command import decode
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.lines import Recorded
from rocketns.shadow.replaying import playing
from rocketns.shadow.replaying.choosing import Choice, Pace, Unsent
from rocketns.shadow.replaying.connection import NoAnswerError
from rocketns.shadow.replaying.playing import Player
from rocketns.shadow.replaying.result import Result
from tests.shadow.recording.pairs import ANSWERED, answer, pair, request
from tests.shadow.replaying.test_pace import Clock

READS = Choice()
NO_TOPIC = answer(code=17)


def lookup(topic: str, upstream: bytes | None = ANSWERED, connection: int = 1) -> Pair:
    return pair(request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}), upstream, connection=connection)


class Server:
    """``answers`` by topic, one after the other; None closes. ``heard``: number of the connection, and topic."""

    def __init__(self, **answers: list[bytes | None]) -> None:
        self.answers = answers
        self.opened = self.closed = 0
        self.heard: list[tuple[int, str | None]] = []

    async def open(self) -> Any:
        self.opened += 1
        return _Connection(self, self.opened)


class _Connection:
    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number

    async def ask(self, frame: bytes, _opaque: int | None) -> bytes:
        topic = decode(frame).ext("topic")
        self._server.heard.append((self._number, topic))
        await asyncio.sleep(0)
        answers = self._server.answers.get(topic or "", [ANSWERED])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if found is None:
            raise NoAnswerError("closed")
        return found

    async def tell(self, frame: bytes) -> None:
        self._server.heard.append((self._number, decode(frame).ext("topic")))

    async def close(self) -> None:
        self._server.closed += 1


def play(server: Server, pairs: Iterable[Pair], choice: Choice = READS, settle_s: float = 0.0, lanes: int = 1,
         clock: Clock | None = None) -> Result:  # fmt: skip
    clock = clock or Clock()
    pace = Pace(clock.now, clock.sleep)

    async def run() -> Result:
        player = Player(server.open, choice, pace, clock.sleep, settle_s=settle_s, lanes=lanes)
        return await player.play((0, Recorded(one)) for one in pairs)

    return asyncio.run(run())


def test_each_recorded_connection_is_one_and_the_order_is_that_of_the_file() -> None:
    server = Server()
    play(server, [lookup("a", connection=5), lookup("b", connection=9), lookup("c", connection=5)])
    assert server.heard == [(1, "a"), (2, "b"), (1, "c")]
    assert (server.opened, server.closed) == (2, 2)


def test_with_lanes_each_connection_keeps_its_own_order() -> None:
    server = Server()
    play(server, [lookup(f"{n}", connection=n % 3) for n in range(30)], lanes=3)
    by_connection = {number: [int(t or 0) for n, t in server.heard if n == number] for number, _ in server.heard}
    assert sorted(by_connection.values()) == [list(range(start, 30, 3)) for start in range(3)]


def test_an_answer_as_recorded_is_equal_and_another_one_differs() -> None:
    result = play(Server(b=[NO_TOPIC]), [lookup("a"), lookup("b")])
    assert (result.of(Outcome.EQUAL), result.of(Outcome.DIFFERENT), result.unwanted) == (1, 1, 1)
    (shown,) = result.shown
    assert (shown.number, shown.code, shown.peer) == (2, 105, "10.0.0.7:40000")
    assert [one.path for one in shown.finding.differences] == ["header.code"]


def test_no_answer_is_missing_and_the_next_request_has_a_new_connection() -> None:
    server = Server(b=[None])
    result = play(server, [lookup("a"), lookup("b"), lookup("c")])
    assert (result.of(Outcome.MISSING), result.of(Outcome.EQUAL)) == (1, 2)
    assert server.heard == [(1, "a"), (1, "b"), (2, "c")]


def test_a_read_that_differs_is_asked_again_once() -> None:
    server, clock = Server(a=[NO_TOPIC, ANSWERED], b=[NO_TOPIC]), Clock()
    result = play(server, [lookup("a"), lookup("b")], settle_s=1.0, clock=clock)
    assert (result.of(Outcome.SETTLED), result.of(Outcome.DIFFERENT)) == (1, 1)
    assert [topic for _, topic in server.heard] == ["a", "a", "b", "b"]
    assert clock.slept == [1.0, 1.0]


def test_what_changes_something_is_never_sent_twice() -> None:
    server = Server(T=[NO_TOPIC])
    delete = pair(request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"}))
    result = play(server, [delete], Choice(with_changes=True), settle_s=1.0)
    assert (len(server.heard), result.of(Outcome.DIFFERENT)) == (1, 1)


def test_asking_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "ASKED_AGAIN_MAX", 2)
    server = Server(a=[NO_TOPIC])
    play(server, [lookup("a")] * 5, settle_s=1.0)
    assert len(server.heard) == 7


def test_open_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "OPEN_MAX", 2)
    server = Server()
    play(server, [lookup("a", connection=n) for n in (1, 2, 3, 1)])
    assert (server.opened, server.closed) == (4, 4)


def test_requests_that_are_not_sent_are_counted_by_reason() -> None:
    server = Server()
    result = play(server, [lookup("a"), pair(request(codes.REGISTER_BROKER)), pair(request(4242))])
    assert result.unsent == {Unsent.CHANGES: 1, Unsent.UNKNOWN: 1}
    assert (result.sent, len(server.heard)) == (1, 1)


def test_a_oneway_request_and_one_without_a_recorded_answer_are_not_compared() -> None:
    oneway = pair(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "o"}, flag=2)), None)
    result = play(Server(), [oneway, lookup("a", None)])
    assert (result.sent, result.oneway, result.unanswered, result.number) == (2, 1, 1, 0)


def test_passwords_in_an_answer_are_left_out_as_in_the_recorded_one() -> None:
    asked = pair(request(codes.GET_NAMESRV_CONFIG), answer(b"clusterTest=false\n"))
    server = Server(**{"": [answer(b"clusterTest=false\ntls.server.keyPassword=secret\n")]})
    assert play(server, [asked]).of(Outcome.EQUAL) == 1
