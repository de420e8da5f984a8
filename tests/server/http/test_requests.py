"""One HTTP connection: when the next head is passed on, when reading stops, and what is dropped at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from unittest.mock import Mock

from rocketns.server.http.heads import HEAD_BYTES_MAX
from rocketns.server.http.requests import Requests

GET = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"


class Peer:
    """A connection without a socket: what was passed on, and what was done to it."""

    def __init__(self) -> None:
        self.passed: list[bytes] = []
        self.answered = b""
        inner = Mock(data_received=self.passed.append)
        self.transport = Mock(spec=asyncio.Transport, is_closing=lambda: self.transport.close.called)
        self.transport.write = self._write
        self.requests = Requests(lambda: inner)
        self.requests.connection_made(self.transport)

    def _write(self, data: bytes) -> None:
        self.answered += data

    def sends(self, data: bytes) -> int:
        """How many bytes were read: reading ends with a paused or closed transport."""
        sent = 0
        while sent < len(data) and not self.is_paused and not self.transport.is_closing():
            buffer = self.requests.get_buffer(-1)
            part = data[sent : sent + len(buffer)]
            buffer[: len(part)] = part
            sent += len(part)
            self.requests.buffer_updated(len(part))
        return sent

    @property
    def is_paused(self) -> bool:
        calls = [call[0] for call in self.transport.method_calls if call[0] in ("pause_reading", "resume_reading")]
        return calls[-1:] == ["pause_reading"]


def run(test: Callable[[Peer], object]) -> None:
    async def running() -> None:
        steps = test(Peer())
        if hasattr(steps, "__next__"):
            for _ in steps:
                await asyncio.sleep(0)

    asyncio.run(running())


def test_the_next_head_waits_for_the_answer_and_for_the_peer_to_read() -> None:
    def steps(peer: Peer):  # type: ignore[no-untyped-def]
        peer.sends(GET % 1 + GET % 2 + GET % 3)
        yield
        assert peer.passed == [GET % 1]
        peer.requests.finish()
        assert peer.passed == [GET % 1]  # the answer is written first
        yield
        assert peer.passed == [GET % 1, GET % 2]
        peer.requests.pause_writing()
        peer.requests.finish()
        yield
        assert peer.passed == [GET % 1, GET % 2]
        peer.requests.resume_writing()
        yield
        assert peer.passed == [GET % 1, GET % 2, GET % 3]

    run(steps)


def test_no_more_is_read_than_one_head_may_have() -> None:
    def steps(peer: Peer):  # type: ignore[no-untyped-def]
        assert peer.sends(GET % 1 + b"x" * 1_000_000) == len(GET % 1) + HEAD_BYTES_MAX
        assert peer.is_paused
        yield

    run(steps)


def test_reading_goes_on_when_a_head_is_taken() -> None:
    def steps(peer: Peer):  # type: ignore[no-untyped-def]
        requests = GET % 1 * (2 * HEAD_BYTES_MAX // len(GET % 1))
        sent = peer.sends(requests)
        peer.requests.finish()
        yield
        assert not peer.is_paused
        assert peer.sends(requests[sent:]) == len(GET % 1)

    run(steps)


def test_a_head_without_end_and_another_protocol_are_refused() -> None:
    def steps(peer: Peer):  # type: ignore[no-untyped-def]
        peer.sends(GET[:-2] + b"X: " + b"a" * HEAD_BYTES_MAX)
        assert (peer.passed, peer.answered[:12]) == ([], b"HTTP/1.1 431")
        yield

    run(steps)
    other = Peer()
    assert other.sends(b"\x16") == 1
    assert other.answered.startswith(b"HTTP/1.1 400")
    assert other.transport.close.called


def test_an_ended_connection_holds_nothing() -> None:
    peer = Peer()
    peer.sends(GET % 1 + b"x" * HEAD_BYTES_MAX)
    peer.requests.connection_lost(None)
    assert (peer.requests._held, peer.requests.transport) == (b"", None)
