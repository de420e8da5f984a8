"""Models of clients and an administrator, and a model's end of a connection to a name server."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from interop.harness import codes
from interop.harness.wire import frame, json_header
from tests.simulation.nameserver import PORT, NameServer
from tests.simulation.network import Network, Socket
from tests.simulation.world import Process, World

ONEWAY = 2


@dataclass(slots=True)
class Answer:
    """A decoded answer. ``code`` None: none came, because the connection ended or it took too long."""

    code: int | None
    ext: dict[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return self.code == 0


LOST = Answer(None, {}, b"")
Then = Callable[[Answer], None]


class Channel:
    """An open connection. Requests that get no answer in time close it, as Java's client does."""

    def __init__(self, process: Process, socket: Socket, closed: Callable[[Channel], None], version: int = 513) -> None:
        self.is_open = True
        self._process = process
        self._socket = socket
        self._closed = closed
        self._version = version
        self._buffer = bytearray()
        self._waiting: dict[int, Then] = {}
        self._opaques = itertools.count(1)
        self._is_wanted = False
        socket.receiver = self

    def request(self, code: int, ext: dict[str, Any], body: bytes, then: Then, within_us: int) -> None:
        """Send a request. ``then`` is called once."""
        self.ask(lambda opaque: frame(json_header(code, ext, opaque=opaque, version=self._version), body), then,
                 within_us)  # fmt: skip

    def ask(self, write: Callable[[int], bytes], then: Then, within_us: int) -> None:
        """Send the frame that ``write`` makes with an opaque."""
        opaque = next(self._opaques)
        self._waiting[opaque] = then
        self._socket.send(write(opaque))
        self._process.after(within_us, lambda: self._time_out(opaque))

    def oneway(self, code: int, ext: dict[str, Any], body: bytes = b"") -> None:
        header = json_header(code, ext, opaque=next(self._opaques), version=self._version, flag=ONEWAY)
        self._socket.send(frame(header, body))

    def _time_out(self, opaque: int) -> None:
        if opaque in self._waiting:
            self.close()

    def readable(self) -> None:
        if not self._is_wanted:
            self._is_wanted = True
            self._process.after(0, self._read)

    def writable(self) -> None: ...

    def _read(self) -> None:
        self._is_wanted = False
        self._buffer += self._socket.read()
        while len(self._buffer) >= 4 and len(self._buffer) >= (end := 4 + struct.unpack_from(">i", self._buffer)[0]):
            data = bytes(self._buffer[4:end])
            del self._buffer[:end]
            self._take(data)
        if self._socket.has_ended:
            self.close()

    def _take(self, data: bytes) -> None:
        size = int.from_bytes(data[1:4], "big")
        header = json.loads(data[4 : 4 + size])
        then = self._waiting.pop(header["opaque"], None) if header["flag"] & 1 else None
        if then is not None:
            then(Answer(header["code"], header.get("extFields") or {}, data[4 + size :]))

    def close(self) -> None:
        """End the connection. Requests that wait get no answer."""
        if self.is_open:
            self.is_open = False
            self._socket.close()
            self._closed(self)
            waiting, self._waiting = self._waiting, {}
            for then in waiting.values():
                then(LOST)

    def abandon(self) -> None:
        """The process died: the kernel closes the connection, and nobody is told here."""
        self.is_open = False
        self._waiting.clear()
        self._socket.close()

    def vanish(self) -> None:
        """The host lost its power."""
        self.is_open = False
        self._waiting.clear()
        self._socket.vanish()


Use = Callable[[Channel | None], None]


class Remote:
    """At most one connection at a time. ``with_channel`` calls back with it, with None where it cannot be opened."""

    def __init__(self, process: Process, network: Network, host: str, server: NameServer, version: int = 513) -> None:
        self.server = server
        self.channel: Channel | None = None
        self._process = process
        self._network = network
        self._host = host
        self._version = version
        self._users: list[Use] = []
        self._is_opening = False

    def with_channel(self, use: Use) -> None:
        if self.channel is not None:
            use(self.channel)
            return
        self._users.append(use)
        if not self._is_opening:
            self._is_opening = True
            self._network.connect(self._host, (self.server.host, PORT), self._opened, self._failed)

    def keep(self) -> None:
        """Open a connection if there is none."""
        if self.channel is None and not self._is_opening:
            self.with_channel(lambda _channel: None)

    def _opened(self, socket: Socket) -> None:
        if not self._process.is_alive:
            socket.close(resets=True)
            return
        channel = Channel(self._process, socket, self._closed, self._version)
        if self._is_opening:
            self.channel = channel
            self._process.after(0, lambda: self._tell(channel))

    def _failed(self, _why: str) -> None:
        self._process.after(0, lambda: self._tell(None))

    def _tell(self, channel: Channel | None) -> None:
        self._is_opening = False
        users, self._users = self._users, []
        for use in users:
            use(channel if channel is not None and channel.is_open else None)

    def _closed(self, channel: Channel) -> None:
        if self.channel is channel:
            self.channel = None

    def abandon(self, *, vanishes: bool) -> None:
        """The process or the host is gone."""
        channel, self.channel = self.channel, None
        if channel is not None and vanishes:
            channel.vanish()
        elif channel is not None:
            channel.abandon()


SECOND_US = 1_000_000
LOOK_UP_US = 30 * SECOND_US
WITHIN_US = 3 * SECOND_US


class Client(Process):
    """``routes`` are its cached routes: the names of the brokers by topic."""

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], number: int, topics: Sequence[str]
    ) -> None:
        super().__init__(world, f"client{number}")
        self.random = world.random_of(self.name)
        self.host = f"10.0.7.{number}"
        self.topics = topics
        self.routes: dict[str, frozenset[str]] = {}
        self.answers = 0
        order = list(servers)
        self.random.shuffle(order)
        self._remotes = [Remote(self, network, self.host, server) for server in order]
        self._at = 0
        self.after(self.random.randint(0, LOOK_UP_US), self._look_up_all)

    @property
    def server(self) -> NameServer:
        """The name server that it asks."""
        return self._remotes[self._at].server

    def _look_up_all(self) -> None:
        for topic in self.topics:
            self._remotes[self._at].with_channel(lambda channel, topic=topic: self._look_up(channel, topic))  # type: ignore[misc]
        self.after(LOOK_UP_US, self._look_up_all)

    def _look_up(self, channel: Channel | None, topic: str) -> None:
        if channel is None:
            self._at = (self._at + 1) % len(self._remotes)
            return
        ext = {"topic": topic, "acceptStandardJsonOnly": "true"}
        channel.request(codes.GET_ROUTEINFO_BY_TOPIC, ext, b"", lambda answer: self._take(topic, answer), WITHIN_US)

    def _take(self, topic: str, answer: Answer) -> None:
        """Only a route replaces the cached one; on any other answer it stays."""
        self.answers += answer.code is not None
        if answer.is_success:
            found = json.loads(answer.body)
            self.routes[topic] = frozenset(one["brokerName"] for one in found["brokerDatas"])


class Administrator(Process):
    """Writes KV items. ``accepted`` has, by name server and key, every value from the last answered one on."""

    def __init__(self, world: World, network: Network, servers: Sequence[NameServer]) -> None:
        super().__init__(world, "admin")
        self.random = world.random_of(self.name)
        self.accepted: dict[tuple[str, str], list[str]] = {}
        self.answered: set[tuple[str, str]] = set()
        self._remotes = [Remote(self, network, "10.0.6.1", server) for server in servers]
        self._count = 0
        self._act_later()

    def _act_later(self) -> None:
        self.after(self.random.randint(1, 100) * SECOND_US // 10, self._act)

    def _act(self) -> None:
        remote = self.random.choice(self._remotes)
        remote.with_channel(lambda channel: self._put(remote, channel))
        self._act_later()

    def _put(self, remote: Remote, channel: Channel | None) -> None:
        if channel is None:
            return
        self._count += 1
        place, value = (remote.server.name, f"k{self.random.randint(0, 3)}"), f"v{self._count}"
        values = self.accepted.setdefault(place, [])
        values.append(value)
        ext = {"namespace": "N", "key": place[1], "value": value}

        def take(answer: Answer) -> None:
            if answer.is_success:
                self.answered.add(place)
                del values[: values.index(value)]

        channel.request(codes.PUT_KV_CONFIG, ext, b"", take, 10 * SECOND_US)
