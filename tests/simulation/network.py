"""Hosts, links and TCP connections in memory. Bytes of a connection keep their order; connections have none."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.simulation.world import VirtualLoop, World

LATENCY_US = (100, 2_000)
# Bytes that the sender may have on the way, or unread at the receiver.
WINDOW_BYTES = 64 * 1024
CONNECT_WITHIN_US = 3_000_000
# After a cut, TCP sends again within this time.
AGAIN_WITHIN_US = 400_000
FIN, RST = b"fin", b"rst"
Address = tuple[str, int]


class Part(bytes):
    """A segment that is not the last one of what was written together."""


class Receiver(Protocol):
    """Gets notified of what happens at a socket. The kernel calls it, so the process may be stopped."""

    def readable(self) -> None:
        """Bytes, or an end, wait at the socket."""

    def writable(self) -> None:
        """The peer took bytes."""


@dataclass
class Link:
    """The way between two hosts, in both directions. ``slow_us`` is added to each packet, up to that much."""

    random: random.Random
    is_cut: bool = False
    slow_us: int = 0
    held: list[Callable[[], None]] = field(default_factory=list)

    def latency_us(self) -> int:
        slow = self.random.randint(self.slow_us // 4, self.slow_us) if self.slow_us else 0
        return self.random.randint(*LATENCY_US) + slow


class Socket:
    """One end of a connection. ``unsent`` waits in its process, ``received`` in the kernel of its host."""

    def __init__(self, network: Network, local: Address, remote: Address) -> None:
        self.local, self.remote = local, remote
        self.receiver: Receiver | None = None
        self.peer: Socket | None = None
        self.unsent: deque[bytes] = deque()
        self.unsent_bytes = 0
        self.received: deque[bytes] = deque()
        self.is_closed = False
        self.has_ended = ""
        self._network = network
        self._link = network.link(local[0], remote[0])
        self._flying: deque[bytes] = deque()
        self._outstanding = 0
        self._arrives_us = 0

    def send(self, data: bytes) -> None:
        """Bytes beyond the window wait in ``unsent``."""
        if data and not self.is_closed:
            self.unsent.append(data)
            self.unsent_bytes += len(data)
            self._pump()

    def _pump(self) -> None:
        while self.unsent and self._outstanding < WINDOW_BYTES and not self.is_closed:
            data = self.unsent.popleft()
            room = WINDOW_BYTES - self._outstanding
            if len(data) > room:
                self.unsent.appendleft(data[room:])
                data = data[:room]
            self.unsent_bytes -= len(data)
            self._outstanding += len(data)
            for part in self._split(data):
                self._fly(part)

    def _split(self, data: bytes) -> list[bytes]:
        """Sometimes a few segments instead of one."""
        if len(data) < 2 or self._link.random.random() > 0.1:
            return [data]
        at = self._link.random.randint(1, len(data) - 1)
        return [Part(data[:at]), data[at:]]

    def _fly(self, item: bytes) -> None:
        self._flying.append(item)
        world = self._network.world
        self._arrives_us = max(self._arrives_us, world.now_us + self._link.latency_us())
        world.at(self._arrives_us, self._arrive)

    def _arrive(self) -> None:
        """The next item of this direction arrives, unless the link is cut: then it arrives when it is not."""
        if self._link.is_cut:
            self._link.held.append(self._arrive)
            return
        if self._flying and self.peer is not None:
            self.peer._take(self._flying.popleft())

    def _take(self, item: bytes) -> None:
        """The kernel receives something."""
        if not self._network.is_up(self.local[0]):
            return
        if self.is_closed:
            if item is not FIN and item is not RST:
                self._fly(RST)
            return
        if item is FIN or item is RST:
            self.has_ended = self.has_ended or item.decode()
            if item is RST:
                self.received.clear()
        else:
            self.received.append(item)
            if not isinstance(item, Part):
                self._network.heard[self.local[0], self.remote[0]] = self._network.world.now_us
        if self.receiver is not None:
            self.receiver.readable()

    def read(self) -> bytes:
        """All bytes that wait here."""
        data = b"".join(self.received)
        self.received.clear()
        if data and self.peer is not None:
            self._network.world.after(self._link.latency_us(), lambda: self._consumed(len(data)))
        return data

    def _consumed(self, size: int) -> None:
        peer = self.peer
        if peer is not None:
            peer._outstanding -= size
            if peer.unsent:
                peer._pump()
                if peer.receiver is not None and not peer.is_closed:
                    peer.receiver.writable()

    def close(self, *, resets: bool = False) -> None:
        """The process closes its end, or ended. What it has not given to the kernel is lost."""
        if not self.is_closed:
            self.is_closed = True
            self.unsent.clear()
            self.unsent_bytes = 0
            if not (resets and self._link.is_cut):  # a reset is not repeated
                self._fly(RST if resets or self.received else FIN)
            self.received.clear()

    def vanish(self) -> None:
        """The host lost its power: nobody is told."""
        self.is_closed = True
        self.unsent.clear()
        self.received.clear()
        self._flying.clear()


class Network:
    """``listeners`` maps an address to what accepts connections there, ``down`` has the hosts without power.

    ``heard`` is when a host got the last bytes of another one, whether a process has read them or not.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.listeners: dict[Address, Callable[[Socket], None]] = {}
        self.down: set[str] = set()
        self.heard: dict[tuple[str, str], int] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._ports = 20_000

    def is_up(self, host: str) -> bool:
        return host not in self.down

    def link(self, one: str, other: str) -> Link:
        key = (one, other) if one < other else (other, one)
        found = self._links.get(key)
        if found is None:
            found = self._links[key] = Link(self.world.random_of(f"link {key}"))
        return found

    def cut(self, one: str, other: str) -> None:
        self.link(one, other).is_cut = True

    def mend(self, one: str, other: str) -> None:
        """What was sent meanwhile arrives now, each connection at its own time."""
        link = self.link(one, other)
        link.is_cut = False
        held, link.held = link.held, []
        delays: dict[object, int] = {}
        for arrive in held:
            owner = getattr(arrive, "__self__", arrive)
            delay = delays.setdefault(owner, link.random.randint(0, AGAIN_WITHIN_US))
            self.world.after(delay, arrive)

    def connect(
        self, host: str, remote: Address, opened: Callable[[Socket], None], failed: Callable[[str], None]
    ) -> None:
        """Call back with the socket, or with what happened instead: ``refused`` or ``timeout``."""
        link = self.link(host, remote[0])

        def arrive() -> None:
            if link.is_cut or not self.is_up(remote[0]) or not self.is_up(host):
                self.world.after(CONNECT_WITHIN_US, lambda: failed("timeout"))
            elif (accept := self.listeners.get(remote)) is None:
                self.world.after(link.latency_us(), lambda: failed("refused"))
            else:
                self._open(host, remote, accept, opened)

        self.world.after(link.latency_us(), arrive)

    def _open(
        self, host: str, remote: Address, accept: Callable[[Socket], None], opened: Callable[[Socket], None]
    ) -> None:
        self._ports += 1
        here, there = Socket(self, (host, self._ports), remote), Socket(self, remote, (host, self._ports))
        here.peer, there.peer = there, here
        accept(there)
        self.world.after(here._link.latency_us(), lambda: opened(here))


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

    def give(self, accept: Callable[[Socket], None]) -> None:
        """Accept what waits, and everything that comes."""
        self._serve = accept
        waiting, self._backlog = self._backlog, []
        for socket in waiting:
            self.opened.append(socket)
            accept(socket)

    def fileno(self) -> ListeningSocket:
        """What `VirtualReactors.listen` takes."""
        return self

    def setblocking(self, _blocking: bool) -> None: ...

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
