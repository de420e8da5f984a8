"""The bytes that the connections which the server opened hold, and which is closed if they are too many or stall.

The reactors' connections are counted in the same totals: see rocketns/_fast/reactor/shedding.pyx.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from rocketns._fast.reactor.reactors import Reactors
from rocketns.config import Limits
from rocketns.routeinfo.events import Cause
from rocketns.server.clock import Clock
from rocketns.server.requests.holders import (
    INPUT,
    OUTPUT,
    STALLED_ANSWERS,
    STALLED_FRAME,
    TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT,
    Bounds,
    Holders,
)
from rocketns.server.stall import IdleAllowance, Stall

# In one call; the next one closes more.
CLOSED_AT_ONCE_MAX = 64
LATE_AT_ONCE_MAX = 1_000
EXCESS_PARTS = 8  # of a limit: over one of them, who holds more than before is closed itself


class Holder(Protocol):
    """A connection that the server opened, whose bytes are counted."""

    def __hash__(self) -> int: ...

    @property
    def host(self) -> str: ...

    @property
    def is_known(self) -> bool:
        """Whether a broker registered from it."""

    @property
    def is_read(self) -> bool:
        """Whether its socket is read. Its peer is not to blame for what does not come otherwise."""

    def count_unsent(self) -> tuple[int, int]:
        """The bytes that are unsent now, and how many the peer took since the last call: asyncio does not say when."""

    def abort(self, cause: Cause, why: str = "") -> None:
        """End it at once. It calls `Totals.forget`."""


class Totals:
    """Control only."""

    def __init__(self, limits: Limits, reactors: Reactors, clock: Clock) -> None:
        self._maxima = (limits.incoming_bytes_max, limits.outgoing_bytes_total_max)
        self._progress_ms_max = limits.progress_seconds * 1000
        self._reactors = reactors
        self._clock = clock
        self._allowance = IdleAllowance()
        self._holders: tuple[Holders[Holder], Holders[Holder]] = (
            self._holders_of(INPUT, limits), self._holders_of(OUTPUT, limits)
        )  # fmt: skip

    def _holders_of(self, kind: int, limits: Limits) -> Holders[Holder]:
        total_max, reactors = self._maxima[kind], self._reactors
        bounds = Bounds.of(limits, total_max)

        def changed(is_known: bool, host: Hashable, change: int, oldest_ms: int) -> None:
            assert isinstance(host, int)
            reactors.hold_here(kind, is_known, host, change, oldest_ms)

        return Holders(bounds, self._now_ms, reactors.host_number, changed)

    def _now_ms(self) -> int:
        return self._clock.now().ms

    def bytes_of(self, kind: int) -> int:
        """Bytes of one kind that the connections of control's loop hold."""
        return self._holders[kind].total

    def hold(self, kind: int, connection: Holder, size: int, moved: int = 0) -> None:
        """Set the bytes of a kind, `INPUT` or `OUTPUT`, that the connection holds: see `Holders.hold`."""
        self._holders[kind].hold(connection, size, moved)

    def renew(self, connection: Holder) -> None:
        """The connection is read again. Its time without progress starts now: the server had kept the peer waiting."""
        self._holders[INPUT].renew(connection)

    def forget(self, connection: Holder) -> None:
        """The connection ended."""
        for holders in self._holders:
            holders.hold_none(connection)

    def enforce_limit(self, kind: int, adding: Holder | None = None) -> None:
        """Over the limit, end connections of control's loop, unless reactors have the connections to be ended.

        If that is not enough and the limit is far exceeded, end ``adding``, which holds more than before.
        """
        for _ in range(CLOSED_AT_ONCE_MAX):
            first = self._first(kind)
            if first is None:
                break
            if kind == INPUT or not self._fits_when_counted(first):
                self._end(kind, first)
        if adding is not None and self._is_far_over(kind) and self._holders[kind].is_listed(adding):
            self._end(kind, adding)

    def _first(self, kind: int) -> Holder | None:
        holders = self._holders[kind]
        found = self._reactors.to_close_here(kind)
        return None if found is None else holders.oldest_of(*found)

    def _fits_when_counted(self, connection: Holder) -> bool:
        """Count what the peer has read by now. Whether this connection is then no longer the one to be closed."""
        size, taken = connection.count_unsent()
        self._holders[OUTPUT].hold(connection, size, taken, renews=False)
        return self._first(OUTPUT) is not connection

    def _is_far_over(self, kind: int) -> bool:
        held = self._reactors.outgoing_bytes if kind == OUTPUT else self._reactors.incoming_bytes
        return held > self._maxima[kind] + self._maxima[kind] // EXCESS_PARTS

    def _end(self, kind: int, connection: Holder) -> None:
        connection.abort(Cause.CHANNEL_CLOSE, TOO_MUCH_UNSENT if kind == OUTPUT else TOO_MUCH_UNFINISHED)

    def close_late(self) -> None:
        """End the connections that made no progress for ``progressSeconds``. Call it each second."""
        self._count_unsent(self._now_ms())
        if self._progress_ms_max:
            since_ms = self._allowance.reduce(self._now_ms()) - self._progress_ms_max
            for connection in self._holders[INPUT].without_progress(since_ms, LATE_AT_ONCE_MAX):
                if connection.is_read:
                    connection.abort(Cause.CHANNEL_CLOSE, STALLED_FRAME)
                else:
                    self.renew(connection)
            for connection in self._count_unsent(since_ms):
                connection.abort(Cause.CHANNEL_CLOSE, STALLED_ANSWERS)

    def _count_unsent(self, since_ms: int) -> list[Holder]:
        """Look again at connections without progress since then. Returns those that still took too few answers."""
        holders = self._holders[OUTPUT]
        looked_at = holders.without_progress(since_ms, LATE_AT_ONCE_MAX)
        for connection in looked_at:
            holders.hold(connection, *connection.count_unsent())
        return [connection for connection in looked_at if not holders.has_progress(connection, since_ms)]

    def forgive(self, stall: Stall) -> int:
        """The server did not run for a while: all have so much more time. Accepted connections are not counted here."""
        self._allowance.add(stall, self._progress_ms_max)
        return 0

    def has_read_all(self) -> bool:
        """Yes: between two periodic jobs the event loop reads all sockets that are ready."""
        return True
