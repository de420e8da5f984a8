"""The connections of an HTTP port: what is read of each, how many there may be, and how long each step may take.

`HttpConnection` is the protocol of a connection. It passes heads of requests on to aiohttp's when it is their turn, one
at a time and no body, and notes since when it waits for what. `HttpGate` has all of them, and closes those that take
too long. A full gate closes an old connection for a new one, of the host that has the most: so peers that hang, or ask
for much, cannot shut out a probe, which takes milliseconds.

Hosts take turns, a few requests in each turn of the loop. So a crowd of connections that all ask for much holds up
neither a probe of another host, nor new connections, which the loop accepts between two turns.

All of it is for the loop of the port.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus

from rocketns.addresses import host_of, unmapped
from rocketns.config.limits import HOST_PARTS
from rocketns.server.http.heads import END, HEAD_BYTES_MAX, is_other_protocol, refusal, refused
from rocketns.server.turns import PacedTurns

# Between two turns the loop accepts up to 16 connections, so those in the kernel are accepted faster than they ask.
REQUESTS_PER_TURN_MAX = 4
CONNECTIONS_MAX = 128
# From its start, until the first request's header is whole.
HEADER_WITHIN_S = 10.0
# From the header until the answer is made. Copies of the management port have a shorter limit (`view.COPY_WITHIN_S`).
ANSWER_WITHIN_S = 30.0
# Between two requests: longer than the usual interval of scrapes.
IDLE_S_MAX = 75.0
# How long a peer may take nothing of an answer that is larger than the socket's buffer. For streams too.
STALLED_S_MAX = 10.0
# Of all connections together, beyond what their sockets hold.
UNSENT_BYTES_MAX = 16 * 1024 * 1024
SWEEP_S = 0.5
STREAMS_MAX = 32


# The answer to a valid head that is not passed on for what it asks; None passes it on. It is given the peer's address
# and the loop's clock.
Objection = Callable[[bytes, str, float], bytes | None]


class HttpConnection(asyncio.BufferedProtocol):
    """One connection. It holds HEAD_BYTES_MAX bytes at most. Beyond that the peer waits until the request before is
    answered.

    ``make_inner`` makes aiohttp's protocol for the connection, once there is a head. What a peer sends beside heads
    never reaches it, so nothing that it keeps can grow.
    """

    def __init__(self, gate: HttpGate, make_inner: Callable[[], asyncio.Protocol]) -> None:
        self._gate = gate
        self._make_inner = make_inner
        self._inner: asyncio.Protocol | None = None
        self._received = bytearray(HEAD_BYTES_MAX)
        self._size = 0
        self._head = b""  # of a request that waits for its turn
        self._is_stalled = self.is_answering = self.is_stream = False
        self.transport: asyncio.Transport | None = None
        self.ends_s = self.stall_ends_s = math.inf
        self.host = self._peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self._peer = f"{unmapped(peer[0])}:{peer[1]}"
            self.host = host_of(self._peer)
        self._gate.enter(self, transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            self._gate.leave(self, self.transport)
        self.transport, self._received, self._size, self._head = None, bytearray(), 0, b""
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def get_buffer(self, _sizehint: int) -> memoryview:
        return memoryview(self._received)[self._size :]

    def buffer_updated(self, nbytes: int) -> None:
        self._size += nbytes
        self._next()
        if self.transport is not None and self._size == HEAD_BYTES_MAX:
            self.transport.pause_reading()

    def eof_received(self) -> bool | None:
        return None if self._inner is None else self._inner.eof_received()

    @property
    def unsent_bytes(self) -> int:
        """Of its answers, what the socket has not taken."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def pause_writing(self) -> None:
        self._is_stalled, self.stall_ends_s = True, self._gate.now_s() + STALLED_S_MAX
        if self._inner is not None:
            self._inner.pause_writing()
        self._gate.shed()

    def resume_writing(self) -> None:
        self._is_stalled, self.stall_ends_s = False, math.inf
        if self._inner is not None:
            self._inner.resume_writing()
        asyncio.get_running_loop().call_soon(self._next)

    def next_turn(self) -> None:
        """aiohttp gets the head of its request, and makes the answer."""
        head, self._head = self._head, b""
        if self.transport is None or self.transport.is_closing():
            return
        if self._inner is None:
            self._inner = self._make_inner()
            self._inner.connection_made(self.transport)
        self._inner.data_received(head)

    def stream(self) -> None:
        """The answer has no end. Only a peer that takes nothing for STALLED_S_MAX is closed."""
        self.is_stream, self.ends_s = True, math.inf

    def finish(self) -> None:
        """The answer is made. aiohttp writes it before the loop's next turn, unless writing is paused."""
        self.is_answering = self.is_stream = False
        self.ends_s = self._gate.now_s() + IDLE_S_MAX
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Pass on the next head, if it is whole and the answer before it is written."""
        if self.is_answering or self._is_stalled or self.transport is None or self.transport.is_closing():
            return
        begun = bytes(self._received[: self._size]).lstrip(b"\r\n")
        size = begun.find(END) + len(END)
        if size >= len(END):
            rest = begun[size:]
            self._received[: len(rest)], self._size = rest, len(rest)
            self.transport.resume_reading()
            self._pass_on(begun[:size])
        elif is_other_protocol(begun):
            self._refuse(refused(HTTPStatus.BAD_REQUEST))
        elif self._size == HEAD_BYTES_MAX:
            self._refuse(refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))

    def _pass_on(self, head: bytes) -> None:
        """Whoever may not ask this gets an answer before anything is made for it."""
        status = refusal(head)
        answer = self._gate.objection(head, self._peer, self._gate.now_s()) if status is None else refused(status)
        if answer is not None:
            self._refuse(answer)
        else:
            self.is_answering, self.ends_s, self._head = True, self._gate.now_s() + ANSWER_WITHIN_S, head
            self._gate.turns.want(self)

    def _refuse(self, answer: bytes) -> None:
        assert self.transport is not None
        self.transport.write(answer)
        self.transport.close()


class HttpGate:
    """All connections, oldest first. ``turns`` of those that have a whole request. ``requests_per_s_max``: None is no
    limit of its own.
    """

    def __init__(self, objection: Objection | None = None, requests_per_s_max: int | None = None) -> None:
        self.objection: Objection = objection or (lambda _head, _peer, _now_s: None)
        pause_s = 0.0 if requests_per_s_max is None else REQUESTS_PER_TURN_MAX / requests_per_s_max
        self.turns = PacedTurns[HttpConnection](at_once=REQUESTS_PER_TURN_MAX, pause_s=pause_s)
        self._guards: dict[asyncio.BaseTransport, HttpConnection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.closed_late = self.closed_full = self.closed_unread = 0

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._guards)

    def now_s(self) -> float:
        """The loop's clock."""
        return asyncio.get_running_loop().time()

    def guarded(self, make: Callable[[], asyncio.Protocol]) -> Callable[[], HttpConnection]:
        """A factory of protocols for `create_server`, from aiohttp's."""
        return lambda: HttpConnection(self, make)

    def of(self, transport: asyncio.BaseTransport | None) -> HttpConnection | None:
        """The connection of a request; None if it has ended."""
        return None if transport is None else self._guards.get(transport)

    def enter(self, guard: HttpConnection, transport: asyncio.BaseTransport) -> None:
        """A new connection. If there are too many, an old one is closed."""
        if len(self._guards) >= CONNECTIONS_MAX:
            self.closed_full += 1
            self._close(self._least_useful())
        guard.ends_s = self.now_s() + HEADER_WITHIN_S
        self._guards[transport] = guard

    def leave(self, guard: HttpConnection, transport: asyncio.BaseTransport) -> None:
        """A connection ended."""
        self._guards.pop(transport, None)
        self.turns.withdraw(guard)

    def sweep(self) -> None:
        """Close what takes too long, and do it again in SWEEP_S."""
        now_s = self.now_s()
        for guard in [one for one in self._guards.values() if min(one.ends_s, one.stall_ends_s) < now_s]:
            self.closed_late += 1
            self._close(guard)
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self.sweep)

    def shed(self) -> None:
        """While peers leave too much unsent, close the one that leaves the most: see `_of_largest_host`."""
        guards = list(self._guards.values())
        while sum(guard.unsent_bytes for guard in guards) > UNSENT_BYTES_MAX:
            largest = _of_largest_host(guards, lambda guard: guard.unsent_bytes, UNSENT_BYTES_MAX)
            guard = max(largest, key=lambda one: one.unsent_bytes)
            guards.remove(guard)
            self.closed_unread += 1
            self._close(guard)

    def has_room(self, guard: HttpConnection) -> bool:
        """For a stream. Beyond STREAMS_MAX the oldest one of the host that has the most is closed for a host that
        would still have fewer, so no host can keep the others from their page.
        """
        streams = [one for one in self._guards.values() if one.is_stream]
        if len(streams) < STREAMS_MAX:
            return True
        of_host = Counter(one.host for one in streams)
        host, most = of_host.most_common(1)[0]
        if of_host[guard.host] + 1 >= most:
            return False
        self.closed_full += 1
        self._close(next(one for one in streams if one.host == host))
        return True

    def end_streams(self) -> None:
        """Close those whose answer has no end."""
        for guard in [one for one in self._guards.values() if one.is_stream]:
            self._close(guard)

    def close(self) -> None:
        """Close all connections."""
        if self._timer is not None:
            self._timer.cancel()
        for guard in list(self._guards.values()):
            self._close(guard)

    def _least_useful(self) -> HttpConnection:
        """The oldest that waits for its peer, or else the oldest: see `_of_largest_host`.

        STREAMS_MAX is less than the limit.
        """
        guards = [guard for guard in self._guards.values() if not guard.is_stream]
        guards = _of_largest_host(guards, lambda _: 1, CONNECTIONS_MAX)
        return next((guard for guard in guards if not guard.is_answering), guards[0])

    def _close(self, guard: HttpConnection) -> None:
        if guard.transport is not None:
            self.leave(guard, guard.transport)
            guard.transport.abort()


def _of_largest_host(
    guards: list[HttpConnection], size: Callable[[HttpConnection], int], limit: int
) -> list[HttpConnection]:
    """The guards of the largest host, if it uses more than its part of the limit; else all guards."""
    of_host: Counter[str] = Counter()
    for guard in guards:
        of_host[guard.host] += size(guard)
    host, most = of_host.most_common(1)[0]
    return [guard for guard in guards if guard.host == host] if most > limit // HOST_PARTS else guards
