"""One HTTP connection: bounded bytes of it are read, and aiohttp gets one request's head at a time and no body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from rocketns.server.http.heads import END, HEAD_BYTES_MAX, is_other_protocol, refusal, refused


class Requests(asyncio.BufferedProtocol):
    """Holds HEAD_BYTES_MAX bytes at most. Beyond that the peer waits until the request before is answered.

    ``make_inner`` makes aiohttp's protocol for the connection, once there is a head. What a peer sends beside heads
    never reaches it, so nothing that it keeps can grow.
    """

    def __init__(self, make_inner: Callable[[], asyncio.Protocol]) -> None:
        self._make_inner = make_inner
        self._inner: asyncio.Protocol | None = None
        self._held = bytearray(HEAD_BYTES_MAX)
        self._size = 0
        self._is_stalled = False
        self.transport: asyncio.Transport | None = None
        self.is_answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport, self._held, self._size = None, bytearray(), 0
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def get_buffer(self, _sizehint: int) -> memoryview:
        return memoryview(self._held)[self._size :]

    def buffer_updated(self, nbytes: int) -> None:
        self._size += nbytes
        self._next()
        if self.transport is not None and self._size == HEAD_BYTES_MAX:
            self.transport.pause_reading()

    def eof_received(self) -> bool | None:
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        self._is_stalled = True
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._is_stalled = False
        if self._inner is not None:
            self._inner.resume_writing()
        self._next_soon()

    def begin(self) -> None:
        """A request's head is whole, and will be passed on."""
        self.is_answering = True

    def give(self, head: bytes) -> None:
        """aiohttp gets the head, and makes the answer."""
        if self.transport is None or self.transport.is_closing():
            return
        if self._inner is None:
            self._inner = self._make_inner()
            self._inner.connection_made(self.transport)
        self._inner.data_received(head)

    def finish(self) -> None:
        """The answer is made. aiohttp writes it before the loop's next turn, unless writing is paused."""
        self.is_answering = False
        self._next_soon()

    def _next_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Pass on the next head, if it is whole and the answer before it is written."""
        if self.is_answering or self._is_stalled or self.transport is None or self.transport.is_closing():
            return
        begun = bytes(self._held[: self._size]).lstrip(b"\r\n")
        size = begun.find(END) + len(END)
        if size >= len(END):
            self._hold(begun[size:])
            self._pass_on(begun[:size])
        elif is_other_protocol(begun):
            self._refuse(refused(HTTPStatus.BAD_REQUEST))
        elif self._size == HEAD_BYTES_MAX:
            self._refuse(refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))

    def _hold(self, rest: bytes) -> None:
        assert self.transport is not None
        self._held[: len(rest)], self._size = rest, len(rest)
        self.transport.resume_reading()

    def _pass_on(self, head: bytes) -> None:
        status = refusal(head)
        answer = self.objection(head) if status is None else refused(status)
        if answer is None:
            self.begin()
            self.give(head)
        else:
            self._refuse(answer)

    def objection(self, _head: bytes) -> bytes | None:
        """The answer to a valid head that is not passed on for what it asks. None passes it on, as by default."""
        return None

    def _refuse(self, answer: bytes) -> None:
        assert self.transport is not None
        self.transport.write(answer)
        self.transport.close()
