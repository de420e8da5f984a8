"""A client's connection: asyncio's end of it, plain."""

from __future__ import annotations

import asyncio
from typing import Protocol

from rocketns.addresses import unmapped, with_port
from rocketns.shadow.relay.leg import FLUSH_S, reset_at_close
from rocketns.shadow.relay.turns import InTurns


class Session(Protocol):
    """What a client's connection does is told to it."""

    is_tls: bool

    def begin(self) -> None: ...
    def client_data(self, data: bytes, /) -> None: ...
    def client_ended(self) -> None: ...
    def client_lost(self, *, was_reset: bool) -> None: ...
    def client_full(self) -> None: ...
    def client_drained(self) -> None: ...


class Relay(Protocol):
    """It makes a session for each client, or None where there is no room."""

    def accepted(self, client: PlainClient, /) -> Session | None: ...


class PlainClient(InTurns):
    """What a session writes goes out as it is."""

    transport: asyncio.Transport
    session: Session

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._was_reset = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        session = self._relay.accepted(self)
        if session is None:
            transport.abort()
            return
        self.session = session
        session.begin()

    def peer(self) -> tuple[str, int]:
        """The client's address and port."""
        name = self.transport.get_extra_info("peername") or ("?", 0)
        return unmapped(name[0]), name[1]

    def local(self) -> tuple[str, int]:
        """The address and port that it connected to."""
        name = self.transport.get_extra_info("sockname") or ("?", 0)
        return unmapped(name[0]), name[1]

    def address(self) -> str:
        """The client's, as text."""
        return with_port(*self.peer())

    def data_received(self, data: bytes) -> None:
        self.session.client_data(data)

    def eof_received(self) -> bool:
        self.session.client_ended()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if hasattr(self, "session"):
            self.session.client_lost(was_reset=error is not None and not self._was_reset)

    def pause_writing(self) -> None:
        self.session.client_full()

    def resume_writing(self) -> None:
        self.session.client_drained()

    def write(self, data: bytes) -> None:
        """To the client. One that is gone, which is known soon, gets nothing."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def write_eof(self) -> None:
        """Nothing more goes to the client."""
        if not self.transport.is_closing():
            self.transport.write_eof()

    def pause_reading(self) -> None:
        """Take nothing more of it."""
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Take more of it."""
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def close(self) -> None:
        """End the connection when what was written is sent, which may take `FLUSH_S`."""
        self.transport.close()
        if self.transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(FLUSH_S, self.transport.abort)

    def reset(self) -> None:
        """End the connection as a server does that fails."""
        self._was_reset = True
        reset_at_close(self.transport)
        self.transport.abort()
