"""A producer or consumer: it asks for the route of each of its topics every 30 s and keeps the last one it was given.

It stays with one name server as long as its connection lives. An administrator is the same, and writes KV items.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from interop.harness import codes
from tests.simulation.actors.channel import Answer, Channel
from tests.simulation.actors.nameserver import NameServer
from tests.simulation.actors.remote import Remote
from tests.simulation.world.network import Network
from tests.simulation.world.scheduler import Process, World

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
