"""One name server as a broker or a client sees it: a connection that is opened when it is needed."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.actors.channel import Channel
from tests.simulation.actors.nameserver import PORT, NameServer
from tests.simulation.world.network import Network, Socket
from tests.simulation.world.scheduler import Process

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
