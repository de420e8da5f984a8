"""The reactors of a simulated name server: in-memory connections, and the messages that control gets of them.

They stand in for `rocketns._fast.reactor.reactors.Reactors`, whose threads run in real time. Every frame is handed to
control. Their part of the work happens in the rounds of the process's own loop.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rocketns._fast.codec.wire import next_frame
from rocketns._fast.connections.connection import Ending
from rocketns._fast.connections.hosts import HostTable
from rocketns.config import Configuration
from rocketns.protocol.bounds import MALFORMED, NEED_MORE
from rocketns.server.reactors.handle import limits_of
from rocketns.server.reactors.transport import ReactorConnection
from tests.simulation.network import ListeningSocket, Socket

if TYPE_CHECKING:
    from rocketns._fast.reactor.reactors import Receiver
    from tests.simulation.nameserver import NameServerProcess

FRAME_COST_BYTES = 256


class VirtualConnection:
    """One accepted connection. It is opened with its first byte."""

    def __init__(self, reactors: VirtualReactors, socket: Socket) -> None:
        self.number = next(reactors.numbers)
        self.socket = socket
        self.buffer = bytearray()
        self.in_flight = 0
        self.active_ms = reactors.now_ms()
        self.idle_ms_max = reactors.idle_ms_max
        self._reactors = reactors
        self._is_opened = self._is_ending = self._is_closed = self._is_wanted = self._is_awaited = False
        socket.receiver = self
        if socket.received or socket.has_ended:
            self.readable()

    def readable(self) -> None:
        """Bytes, or an end, wait at the socket."""
        if not self._is_wanted and not self._is_closed:
            self._is_wanted = True
            self._reactors.loop.add_input(self._read)

    def writable(self) -> None:
        """The peer took bytes."""
        self._reactors.loop.add_input(self._written)

    @property
    def _must_wait(self) -> bool:
        limits = self._reactors.limits
        is_unread = self.socket.unsent_bytes > limits["high_water_bytes"]
        return self._is_closed or self._is_ending or is_unread or self.in_flight >= limits["in_flight_max"]

    def _read(self) -> None:
        self._is_wanted = False
        if self._must_wait:
            return
        data = self.socket.read()
        if data:
            self.active_ms = self._reactors.now_ms()
            self.buffer += data
            if not self._is_opened:
                self._is_opened = True
                address = "{}:{}".format(*self.socket.remote)
                self._reactors.push("opened", self.number, 0, False, (address, None, b"", 0))
            self.process_frames()
        ended = self.socket.has_ended
        if ended and not self.socket.received and not self._is_closed:
            self.close(Ending.FAILED if ended == "rst" else Ending.PEER_CLOSED)

    def process_frames(self) -> None:
        """Hand over what control may have now."""
        at = 0
        while not self._must_wait:
            size = next_frame(self.buffer, at, self._reactors.limits["frame_bytes_max"])
            if size == NEED_MORE:
                break
            if size == MALFORMED:
                self.end(Ending.MALFORMED_FRAME)
                break
            if self.in_flight and self._reactors.is_crowded:
                self._reactors.stalled.append(self)
                break
            self.in_flight += 1
            self._reactors.queued_bytes += size + FRAME_COST_BYTES
            self._reactors.push("frame", self.number, bytes(self.buffer[at : at + size]), False)
            self._reactors.arrived += 1
            at += size
        del self.buffer[:at]

    def go_on(self) -> None:
        """There is room again."""
        self.process_frames()
        if self.socket.received or self.socket.has_ended:
            self.readable()

    def reply(self, done: int, data: bytes, awaits_delivery: bool) -> None:
        self.in_flight -= min(self.in_flight, done)
        self._is_awaited |= awaits_delivery
        if data:
            self.active_ms = self._reactors.now_ms()
            self.socket.send(data)
        if self.socket.unsent_bytes > self._reactors.limits["outgoing_bytes_max"]:
            self.close(Ending.TOO_MUCH_UNSENT)
        self._reactors.loop.add_input(self._written)

    def _written(self) -> None:
        if self._is_closed:
            return
        if self._is_awaited and self.socket.unsent_bytes <= self._reactors.limits["high_water_bytes"]:
            self._is_awaited = False
            self._reactors.push("answers_delivered", self.number)
        if self._is_ending and not self.socket.unsent:
            self.close(Ending.ENDED)
        else:
            self.go_on()

    def end(self, ending: Ending) -> None:
        """Close after the unsent answers."""
        self._is_ending = True
        if not self.socket.unsent:
            self.close(ending)

    def close(self, ending: Ending) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.socket.close()
            self._reactors.forget(self, ending if self._is_opened else None)


class VirtualReactors:
    """What control asks of reactors. ``connections_by_number`` are open."""

    count = 0  # no thread
    rounds: tuple[int, ...] = ()
    replied_bytes = turned_away = access_generation = strangers_closed = 0
    handshakes = (0, 0, 0)

    def __init__(self, configuration: Configuration, process: NameServerProcess) -> None:
        self.limits = limits_of(configuration, configuration.read_tls().mode)
        self.loop = process.loop
        self.hosts = HostTable()
        self.numbers = itertools.count(1)
        self.idle_ms_max = configuration.netty.idle_ms_max
        self.queued_bytes = 0
        self.arrived = 0  # frames that have not ended
        self.stalled: list[VirtualConnection] = []
        self.connections_by_number: dict[int, VirtualConnection] = {}
        self._clock = process.server.clock
        self._messages: deque[tuple[Any, ...]] = deque()
        self._when_ready: Callable[[], None] | None = None
        self._is_noticed = False
        self._held = 0

    def lookups_of_views(self) -> list[int]:
        return []  # there is no view

    def now_ms(self) -> int:
        return self._clock.now().ms

    # The way of the messages.

    def fileno(self) -> VirtualReactors:
        """What `VirtualLoop.add_reader` watches."""
        return self

    def watch(self, when_ready: Callable[[], None] | None) -> None:
        self._when_ready = when_ready

    def push(self, *message: Any) -> None:
        """A message to control: the receiver's method, and its arguments."""
        self._messages.append(message)
        if not self._is_noticed:
            self._is_noticed = True
            self.loop.add_input(self._notice)

    def _notice(self) -> None:
        self._is_noticed = False
        if self._when_ready is not None and self._messages:
            self._when_ready()

    def deliver(self, most: int, receiver: Receiver) -> None:
        for _ in range(min(most, len(self._messages))):
            name, *arguments = self._messages.popleft()
            getattr(receiver, name)(*arguments)

    @property
    def has_news(self) -> bool:
        return bool(self._messages)

    # Connections.

    def listen(self, listening: ListeningSocket) -> None:
        listening.give(lambda socket: self.loop.add_input(lambda: self._accept(socket)))

    def _accept(self, socket: Socket) -> None:
        connection = VirtualConnection(self, socket)
        self.connections_by_number[connection.number] = connection

    def forget(self, connection: VirtualConnection, ending: Ending | None) -> None:
        del self.connections_by_number[connection.number]
        if ending is not None:
            self.push("closed", connection.number, ending)

    def reply(self, number: int, done: int, data: bytes, awaits_delivery: bool = False, *_more: object) -> None:
        connection = self.connections_by_number.get(number)
        if connection is not None:
            connection.reply(done, bytes(data), awaits_delivery)

    def end(self, number: int) -> None:
        connection = self.connections_by_number.get(number)
        if connection is not None:
            connection.end(Ending.ENDED)

    def abort(self, number: int) -> None:
        connection = self.connections_by_number.get(number)
        if connection is not None:
            connection.close(Ending.ENDED)

    def close_idle(self, now_ms: int) -> None:
        for one in list(self.connections_by_number.values()):
            if 0 < one.idle_ms_max <= now_ms - one.active_ms:
                one.close(Ending.IDLE)

    def limit_idle(self, idle_ms_max: int) -> None:
        self.idle_ms_max = idle_ms_max

    def end_frame(self) -> None:
        self.arrived -= 1

    @property
    def is_applied(self) -> bool:
        return self.arrived == 0

    def done_with(self, frame_bytes: int, _host: int) -> None:
        self.queued_bytes -= frame_bytes + FRAME_COST_BYTES
        if self.queued_bytes <= self.limits["queued_bytes_max"] // 2:
            stalled, self.stalled = self.stalled, []
            for connection in stalled:
                self.loop.add_input(connection.go_on)

    @property
    def is_crowded(self) -> bool:
        return self.queued_bytes > self.limits["queued_bytes_max"]

    @property
    def connections(self) -> int:
        return len(self.connections_by_number)

    @property
    def incoming_bytes(self) -> int:
        return self._held + sum(len(one.buffer) for one in self.connections_by_number.values())

    @property
    def outgoing_bytes(self) -> int:
        return sum(one.socket.unsent_bytes for one in self.connections_by_number.values())

    # What the connections that the server opens hold.

    def count_here(self, change: int) -> bool:
        self._held += change
        return True

    # What control says once, and what it asks for.

    def run(self, _number: int) -> None: ...
    def use_context(self, _made: object) -> None: ...
    def set_access(self, *_policy: object) -> None: ...
    def enable(self, _enabled: bool) -> None: ...

    def remember_allowed(self, _frame: bytes) -> bool:
        return False

    def lookups_of(self, _number: int) -> int:
        return 0

    lookups = (0, 0)

    def drain_missing(self) -> list[Any]:
        return []

    def drain_lookups(self) -> tuple[list[Any], int, int]:
        return [], 0, 0

    def stop(self) -> None:
        for one in list(self.connections_by_number.values()):
            one.close(Ending.ENDED)


def numbered_connections() -> type[ReactorConnection]:
    """Sets of connections then have the same order in each run, wherever they lie in memory."""
    numbers = itertools.count(1)

    class NumberedConnection(ReactorConnection):
        __slots__ = ("_own_number",)

        def __init__(self, *arguments: Any, **more: Any) -> None:
            self._own_number = next(numbers)
            super().__init__(*arguments, **more)

        def __hash__(self) -> int:
            return self._own_number

    return NumberedConnection
