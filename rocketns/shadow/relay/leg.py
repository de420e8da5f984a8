"""A connection from the relay to one of the two servers, for one client's connection."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Protocol

from rocketns.shadow.relay.frames.budget import Account
from rocketns.shadow.relay.frames.cutting import Cutter
from rocketns.shadow.relay.turns import InTurns

# SO_LINGER with no time: the close is a reset.
_RESETS = struct.pack("ii", 1, 0)
FLUSH_S = 10.0
# Reasons why a connection is not read.
CLIENT_IS_FULL, WAITS_FOR_FRAME = 1, 2


class Owner(Protocol):
    """The session that a leg belongs to."""

    def leg_opened(self, leg: Leg, /) -> None: ...
    def leg_data(self, leg: Leg, data: bytes, /) -> None: ...
    def leg_ended(self, leg: Leg, /) -> None: ...
    def leg_lost(self, leg: Leg, /) -> None: ...
    def look_again(self) -> None: ...


class Leg(InTurns):
    """Opening, open, or over. What is written while it opens waits. ``is_own``: to rocketns, not to the upstream.

    ``is_full``: the server does not take what is written. ``has_ended``: it sends nothing more. ``was_reset``: how it
    ended.
    """

    def __init__(self, session: Owner, account: Account, frame_bytes_max: int, *, is_own: bool) -> None:
        self._session = session
        self._account = account
        self.is_own = is_own
        self.cutter = Cutter(account, frame_bytes_max, pins=True)
        self.transport: asyncio.Transport | None = None
        self.is_over = self.is_full = self.has_ended = self.was_reset = False
        self._waiting: list[bytes] = []
        self._ends = False  # an end of the stream waits
        self._kept = 0
        self._pauses = 0

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.is_over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if self.is_over:
            transport.abort()
            return
        self.transport = transport
        if self._waiting:
            transport.write(b"".join(self._waiting))
            self._waiting.clear()
            self._keep(0)
        if self._pauses:
            transport.pause_reading()
        if self._ends:
            transport.write_eof()
        self._session.leg_opened(self)

    def data_received(self, data: bytes) -> None:
        if not self.is_over:
            self._session.leg_data(self, data)

    def eof_received(self) -> bool:
        """The server sends nothing more. It may still read."""
        if not self.is_over:
            self._session.leg_ended(self)
        return not self.is_over

    def connection_lost(self, error: Exception | None) -> None:
        if self.is_over:
            return
        self.was_reset = error is not None
        self._session.leg_lost(self)

    def pause_writing(self) -> None:
        self.is_full = True
        self._session.look_again()

    def resume_writing(self) -> None:
        self.is_full = False
        self._keep(0)
        self._session.look_again()

    def write(self, data: bytes, *, is_bounded: bool) -> bool:
        """Whether there was room. ``is_bounded``: its client does not wait for it, so that bytes may pile up."""
        transport = self.transport
        if transport is None:
            self._waiting.append(data)
            return self._keep(self._kept + len(data), by_force=not is_bounded)
        if transport.is_closing():
            return True
        transport.write(data)
        if self.is_full:
            return self._keep(transport.get_write_buffer_size(), by_force=not is_bounded)
        return True

    def write_eof(self) -> None:
        """The client sends nothing more."""
        if self.transport is None:
            self._ends = True
        elif not self.is_over and self.transport.can_write_eof():
            self.transport.write_eof()

    def pause(self, reason: int) -> None:
        """Do not read, as long as there is a reason."""
        if not self._pauses and self.is_open:
            assert self.transport is not None
            self.transport.pause_reading()
        self._pauses |= reason

    def resume(self, reason: int) -> None:
        """This reason is over."""
        was, self._pauses = self._pauses, self._pauses & ~reason
        if was and not self._pauses and self.is_open:
            assert self.transport is not None
            self.transport.resume_reading()

    def read_to_the_end(self, *, with_eof: bool) -> None:
        """The client is gone: nothing else is waited for than what the server sends. ``with_eof``: it is told so."""
        if with_eof:
            self.write_eof()
        self.resume(CLIENT_IS_FULL | WAITS_FOR_FRAME)

    def close(self, *, reset: bool = False, at_once: bool = False) -> None:
        """Over: nothing that comes counts. What was written is sent in `FLUSH_S`, unless it is to end ``at_once``."""
        self.is_over = True
        self._waiting.clear()
        self._keep(0)
        self.cutter.drop()
        if self.transport is not None:
            if reset:
                reset_at_close(self.transport)
            if reset or at_once:
                self.transport.abort()
                return
            self.transport.close()
            if self.is_full:
                asyncio.get_running_loop().call_later(FLUSH_S, self.transport.abort)

    def _keep(self, size: int, *, by_force: bool = False) -> bool:
        """Account for so many bytes that the server has not taken."""
        more = size - self._kept
        if more > 0 and not self._account.take(more, by_force=by_force):
            return False
        if more < 0:
            self._account.give(-more)
        self._kept = size
        return True


def reset_at_close(transport: asyncio.BaseTransport) -> None:
    """Let the close of a connection be a reset, as its other side had one."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
