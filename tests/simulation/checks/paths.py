"""Which broker can reach which name server, and since when. The bounds of the invariants count from there."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.actors.broker import Broker
from tests.simulation.actors.nameserver import NameServer
from tests.simulation.world.network import AGAIN_WITHIN_US, Network
from tests.simulation.world.scheduler import World

Pair = tuple[str, str]
# After this time everything has arrived that was on its way when a link was mended or became fast again.
DRAINED_US = AGAIN_WITHIN_US + 100_000
NEVER = 1 << 60


class Paths:
    """``update`` is called after everything that may open or close a path.

    ``since`` is when a path opened, `NEVER` while it is closed: both processes run and the link carries. ``closed`` is
    when it closed last. ``drained`` is from when on nothing is on its way that was sent before it opened.
    """

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker]
    ) -> None:
        self._world, self._network = world, network
        self._servers, self._brokers = servers, brokers
        self._hosts: dict[Pair, set[str]] = {}
        self._slow_us: dict[Pair, int] = {}
        self._drains: dict[Pair, int] = {}
        self._carried: dict[Pair, bool] = {}
        self._runs: dict[Pair, tuple[object, object]] = {}
        self.since: dict[Pair, int] = {}
        self.closed: dict[Pair, int] = {}
        for broker in brokers:
            for server in servers:
                pair = self.pair(broker, server)
                self.since[pair], self.closed[pair], self._hosts[pair] = NEVER, 0, set()

    @staticmethod
    def pair(broker: Broker, server: NameServer) -> Pair:
        return f"{broker.name}[{broker.broker_id}]", server.name

    def update(self) -> None:
        now_us = self._world.now_us
        for broker in self._brokers:
            for server in self._servers:
                pair = self.pair(broker, server)
                self._note_drain(pair, broker, server)
                runs = (broker.process, server.process)
                is_open = self._is_open(broker, server)
                if self.since[pair] != NEVER and (not is_open or self._runs.get(pair) != runs):
                    self.since[pair], self.closed[pair] = NEVER, now_us
                if is_open and self.since[pair] == NEVER:
                    self.since[pair] = now_us
                self._runs[pair] = runs

    def _note_drain(self, pair: Pair, broker: Broker, server: NameServer) -> None:
        """Data of every former host of the broker may still be on its way."""
        self._hosts[pair].add(broker.host)
        links = [self._network.link(host, server.host) for host in self._hosts[pair]]
        carries = not any(link.is_cut or link.slow_us for link in links)
        if not carries:
            self._slow_us[pair] = max(self._slow_us.get(pair, 0), *(link.slow_us for link in links))
            self._drains[pair] = NEVER
        elif not self._carried.get(pair, True):
            self._drains[pair] = self._world.now_us + DRAINED_US + self._slow_us.pop(pair, 0)
        self._carried[pair] = carries

    def drained_us(self, pair: Pair) -> int:
        return self._drains.get(pair, 0)

    def _is_open(self, broker: Broker, server: NameServer) -> bool:
        link = self._network.link(broker.host, server.host)
        return (
            broker.process is not None
            and broker.is_running
            and not broker.process.is_stopped
            and not broker.process.is_leaving
            and server.process is not None
            and server.serves
            and not server.process.is_stopped
            and not link.is_cut
            and not link.slow_us
            and self._network.is_up(broker.host)
            and self._network.is_up(server.host)
        )
