"""asyncio's transport over a simulated socket, and the listening socket that makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.simulation.world.loop import VirtualLoop
from tests.simulation.world.network import Address, Network, Socket


class VirtualTransport(asyncio.Transport):
    """As asyncio's: data is written at once if the kernel takes it, and a paused connection is not read."""

    def __init__(self, socket: Socket, protocol: asyncio.Protocol, loop: VirtualLoop) -> None:
        super().__init__({"peername": socket.remote})
        self.socket = socket
        self._protocol = protocol
        self._loop = loop
        self._high, self._low = 64 * 1024, 16 * 1024
        self._is_closing = self._is_lost = self._reading_paused = self._writing_paused = self._is_wanted = False
        socket.receiver = self
        protocol.connection_made(self)
        if socket.received or socket.has_ended:
            self.readable()

    def readable(self) -> None:
        if not self._is_wanted and not self._reading_paused and not self._is_lost:
            self._is_wanted = True
            self._loop.add_input(self._read)

    def _read(self) -> None:
        self._is_wanted = False
        if self._is_closing or self._reading_paused:
            return
        data = self.socket.read()
        if data:
            self._protocol.data_received(data)
        ended = self.socket.has_ended
        if not ended or self._is_closing or self._reading_paused or self.socket.received:
            return
        if ended == "rst":
            self._lose(ConnectionResetError(104, "Connection reset by peer"))
        elif not self._protocol.eof_received():
            self.close()

    def writable(self) -> None:
        self._loop.add_input(self._written)

    def _written(self) -> None:
        if self._writing_paused and self.get_write_buffer_size() <= self._low and not self._is_lost:
            self._writing_paused = False
            self._protocol.resume_writing()
        if self._is_closing and not self.socket.unsent:
            self._lose(None)

    def write(self, data: bytes) -> None:  # type: ignore[override]
        if self._is_lost or self.socket.is_closed:
            return
        self.socket.send(bytes(data))
        if not self._writing_paused and self.get_write_buffer_size() > self._high:
            self._writing_paused = True
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.socket.unsent_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._reading_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._reading_paused = True

    def resume_reading(self) -> None:
        if self._reading_paused and not self._is_closing:
            self._reading_paused = False
            if self.socket.received or self.socket.has_ended:
                self.readable()

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self.socket.unsent:
                self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        if not self._is_lost:
            self._is_closing = True
            self._loop.call_soon(self._lose, None)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = self._is_closing = True
            self.socket.close()
            self._protocol.connection_lost(error)


class ListeningSocket:
    """What `bind` returns. Connections are refused until `listen`, and wait for `serve` after it."""

    def __init__(self, network: Network, address: Address, opened: list[Socket]) -> None:
        self._network = network
        self._address = address
        self._backlog: list[Socket] = []
        self.opened = opened
        self._serve: Callable[[Socket], None] | None = None

    def getsockname(self) -> Address:
        return self._address

    def listen(self, _backlog: int = 0) -> None:
        self._network.listeners[self._address] = self._accept

    def _accept(self, socket: Socket) -> None:
        if self._serve is None:
            self._backlog.append(socket)
        else:
            self.opened.append(socket)
            self._serve(socket)

    def serve(self, factory: Callable[[], asyncio.Protocol], loop: VirtualLoop) -> ListeningSocket:
        """Accept what waits, and everything that comes."""

        def accept(socket: Socket) -> None:
            loop.add_input(lambda: VirtualTransport(socket, factory(), loop))  # type: ignore[arg-type, return-value]

        self._serve = accept
        waiting, self._backlog = self._backlog, []
        for socket in waiting:
            self.opened.append(socket)
            accept(socket)
        return self

    def close(self) -> None:
        self._network.listeners.pop(self._address, None)
        for socket in self._backlog:
            socket.close(resets=True)
        self._backlog.clear()

    def setsockopt(self, *_: Any) -> None: ...


class KeptSocket(ListeningSocket):
    """A supervisor has it as well: what comes after the process has closed it waits for the next process."""

    def close(self) -> None:
        self._serve = None

    def vanish(self) -> None:
        """The host lost its power."""
        self._network.listeners.pop(self._address, None)
        for socket in self._backlog:
            socket.vanish()
        self._backlog.clear()
