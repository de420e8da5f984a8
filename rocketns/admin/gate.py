"""The connections of the management port: how many there may be, and how long each step of one may take.

`AdminConnection` is the protocol of a connection. It passes heads of requests on to aiohttp's when it is their turn,
and notes since when it waits for what. `AdminGate` has all of them, and closes those that take too long. A full gate
closes an old connection for a new one, of the host that has the most: so peers that hang, or ask for much, cannot shut
out a probe, which takes milliseconds.

Hosts take turns, a few requests in each turn of the loop. So a crowd of connections that all ask for much holds up
neither a probe of another host, nor new connections, which the loop accepts between two turns.

All of it is for the loop of the management port.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable

from rocketns.addresses import host_of, unmapped
from rocketns.admin.tokens import TokenAccess
from rocketns.config.limits import HOST_PARTS
from rocketns.server.http.requests import Requests
from rocketns.server.http.secured import TlsPort
from rocketns.server.requests.turns import QUANTUM_NS, HostTurns

# Between two turns the loop accepts up to 16 connections, so those in the kernel are accepted faster than they ask.
REQUESTS_PER_TURN_MAX = 4
CONNECTIONS_MAX = 128
# From its start, until the first request's header is whole.
HEADER_WITHIN_S = 10.0
# From the header until the answer is made. Copies have a shorter limit of their own (`view.COPY_WITHIN_S`).
ANSWER_WITHIN_S = 30.0
# Between two requests: longer than the usual interval of scrapes.
IDLE_S_MAX = 75.0
# How long a peer may take nothing of an answer that is larger than the socket's buffer. For streams too.
STALLED_S_MAX = 10.0
# Of all connections together, beyond what their sockets hold.
UNSENT_BYTES_MAX = 16 * 1024 * 1024
SWEEP_S = 0.5
STREAMS_MAX = 32


class AdminConnection(Requests):
    """One connection. ``make_inner`` makes aiohttp's protocol for it."""

    def __init__(self, gate: AdminGate, make_inner: Callable[[], asyncio.Protocol]) -> None:
        super().__init__(make_inner)
        self._gate = gate
        self.ends_s = math.inf
        self.stall_ends_s = math.inf
        self.is_stream = False
        self.host = self._peer = ""
        self._head = b""  # of a request that waits for its turn

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        if peer:
            self._peer = f"{unmapped(peer[0])}:{peer[1]}"
            self.host = host_of(self._peer)
        self._gate.enter(self, transport)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            self._gate.leave(self.transport)
        if self._head:
            self._gate.turns.withdraw(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self.stall_ends_s = self._gate.now_s() + STALLED_S_MAX
        super().pause_writing()
        self._gate.shed()

    @property
    def unsent_bytes(self) -> int:
        """Of its answers, what the socket has not taken."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        self.stall_ends_s = math.inf
        super().resume_writing()

    def objection(self, head: bytes) -> bytes | None:
        """Whoever lacks the token of a path gets an answer before anything is made for it."""
        access = self._gate.access
        return None if access is None else access.objection(head, self._peer, self._gate.now_s())

    def begin(self) -> None:
        """A request's head is whole."""
        super().begin()
        self.ends_s = self._gate.now_s() + ANSWER_WITHIN_S

    def give(self, head: bytes) -> None:
        self._head = head
        self._gate.want_turn(self)

    def take_turn(self) -> None:
        """Its request may be answered now."""
        head, self._head = self._head, b""
        super().give(head)

    def finish(self) -> None:
        """The answer is made; it may not be written yet."""
        self.is_stream, self.ends_s = False, self._gate.now_s() + IDLE_S_MAX
        super().finish()

    def stream(self) -> None:
        """The answer has no end. Only a peer that takes nothing for STALLED_S_MAX is closed."""
        self.is_stream, self.ends_s = True, math.inf


class AdminGate:
    """All connections, oldest first. ``access``: which tokens there are; None if nobody needs one. ``tls``: None
    without TLS.
    """

    def __init__(self, access: TokenAccess | None = None, tls: TlsPort | None = None) -> None:
        self.access = access
        self.tls = tls
        self._guards: dict[asyncio.BaseTransport, AdminConnection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.turns: HostTurns[AdminConnection] = HostTurns()  # of connections with a whole request
        self._is_turning = False
        self.accepted = 0
        self.closed = Counter(late=0, full=0, unread=0)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._guards)

    def now_s(self) -> float:
        """The loop's clock."""
        return asyncio.get_running_loop().time()

    def guarded(self, make: Callable[[], asyncio.Protocol]) -> Callable[[], AdminConnection]:
        """A factory of protocols for `create_server`, from aiohttp's."""
        return lambda: AdminConnection(self, make)

    def of(self, transport: asyncio.BaseTransport | None) -> AdminConnection | None:
        """The connection of a request; None if it has ended."""
        return None if transport is None else self._guards.get(transport)

    def enter(self, guard: AdminConnection, transport: asyncio.BaseTransport) -> None:
        """A new connection. If there are too many, an old one is closed."""
        if len(self._guards) >= CONNECTIONS_MAX:
            self._close(self._least_useful(), "full")
        self.accepted += 1
        guard.ends_s = self.now_s() + HEADER_WITHIN_S
        self._guards[transport] = guard

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """A connection ended."""
        self._guards.pop(transport, None)

    def want_turn(self, asking: AdminConnection) -> None:
        """It takes its turn soon, unless it withdraws."""
        self.turns.want(asking, asking.host)
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._take_turns)

    def _take_turns(self) -> None:
        for _ in range(REQUESTS_PER_TURN_MAX):
            if not self.turns:
                break
            asking = self.turns.next()
            self.turns.withdraw(asking)
            # What it really takes is known too late: it waits for control, and others run meanwhile.
            self.turns.charge(asking, asking.host, QUANTUM_NS)
            asking.take_turn()
        self._is_turning = bool(self.turns)
        if self._is_turning:
            asyncio.get_running_loop().call_soon(self._take_turns)

    def sweep(self) -> None:
        """Close what takes too long, and do it again in SWEEP_S."""
        now_s = self.now_s()
        for guard in [one for one in self._guards.values() if min(one.ends_s, one.stall_ends_s) < now_s]:
            self._close(guard, "late")
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self.sweep)

    def shed(self) -> None:
        """While peers leave too much unsent, close the one that leaves the most: see `_of_largest_host`."""
        guards = list(self._guards.values())
        while sum(guard.unsent_bytes for guard in guards) > UNSENT_BYTES_MAX:
            largest = _of_largest_host(guards, lambda guard: guard.unsent_bytes, UNSENT_BYTES_MAX)
            guard = max(largest, key=lambda one: one.unsent_bytes)
            guards.remove(guard)
            self._close(guard, "unread")

    def has_room(self, guard: AdminConnection) -> bool:
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
        self._close(next(one for one in streams if one.host == host), "full")
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

    def _least_useful(self) -> AdminConnection:
        """The oldest that waits for its peer, or else the oldest: see `_of_largest_host`.

        STREAMS_MAX is less than the limit.
        """
        guards = [guard for guard in self._guards.values() if not guard.is_stream]
        guards = _of_largest_host(guards, lambda _: 1, CONNECTIONS_MAX)
        return next((guard for guard in guards if not guard.is_answering), guards[0])

    def _close(self, guard: AdminConnection, why: str | None = None) -> None:
        """``why`` is counted."""
        if why is not None:
            self.closed[why] += 1
        if guard.transport is not None:
            self.leave(guard.transport)
            guard.transport.abort()


def _of_largest_host(
    guards: list[AdminConnection], size: Callable[[AdminConnection], int], limit: int
) -> list[AdminConnection]:
    """The guards of the largest host, if it uses more than its part of the limit; else all guards."""
    of_host: Counter[str] = Counter()
    for guard in guards:
        of_host[guard.host] += size(guard)
    host, most = of_host.most_common(1)[0]
    return [guard for guard in guards if guard.host == host] if most > limit // HOST_PARTS else guards
