"""Simulated brokers that share topics: registered with a server, kept alive, and closed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.failures import CellFailed
from benchmarks.loading.registrations import broker_host, broker_name, plain_body, registration, route_body, spread
from benchmarks.servers.process import Spent, spent_by
from benchmarks.servers.running import Server
from interop.harness import codes
from interop.harness.wire import Client

# rocketmq-rust closes a connection without requests after 120 s, and has no setting for it.
TOUCH_EVERY_S = 40.0


@dataclass(frozen=True)
class Shape:
    """The number of brokers and of topics; each topic is on ``width`` of the brokers."""

    brokers: int
    topics: int
    width: int

    def frame(self, number: int) -> bytes:
        """The registration of one of the brokers."""
        body = plain_body(spread(number, self.brokers, self.topics, self.width), number + 1)
        return registration(broker_name(number), broker_host(number), body)

    def body(self) -> bytes:
        """A route's body. Topic 0 is on the first ``width`` brokers; another topic's body is as long."""
        return route_body(range(self.width))


@dataclass
class Brokers:
    """The connections of the simulated brokers to one server."""

    server: Server
    clients: list[Client] = field(default_factory=list)
    # The cost of all registrations so far.
    cpu_s: float = 0.0
    took_s: float = 0.0
    waits_s: list[float] = field(default_factory=list)
    _touched: float = field(default_factory=time.monotonic)

    def register(self, number: int, frame: bytes) -> None:
        """Register one broker on a connection of its own; a broker that has one registers again."""
        if number == len(self.clients):
            self.clients.append(self.server.connect())
        spent = send(self.server, self.clients[number], frame)
        self.cpu_s += spent.cpu_s
        self.took_s += spent.took_s
        self.waits_s.append(spent.took_s)

    def keep_alive(self) -> None:
        """Send a small request on each connection, so that no server closes it for idling."""
        if time.monotonic() - self._touched < TOUCH_EVERY_S:
            return
        for client in self.clients:
            client.request(codes.GET_BROKER_CLUSTER_INFO)
        self._touched = time.monotonic()

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.clients.clear()


def send(server: Server, client: Client, frame: bytes) -> Spent:
    """Send a registration and wait for the answer. Returns its cost for the server. CellFailed if it is refused."""
    with spent_by(server.pid) as spent:
        client.send(frame)
        answer = client.receive()
    if answer.code != codes.SUCCESS:
        raise CellFailed(f"registration refused: code {answer.code}: {answer.remark}")
    return spent


@contextlib.contextmanager
def with_brokers(
    servers: list[Server], shape: Shape, limit_s: float, failed: Callable[[Server, Exception], None]
) -> Iterator[dict[str, Brokers]]:
    """Register the shape's brokers with each server; by the server's key. ``failed`` is called for a server that
    refuses them or takes longer than ``limit_s``; that server is left out."""
    found = {server.kind.key: Brokers(server) for server in servers}
    try:
        register_all(found, shape, limit_s, failed)
        yield found
    finally:
        for brokers in found.values():
            brokers.close()


def register_all(
    found: dict[str, Brokers], shape: Shape, limit_s: float, failed: Callable[[Server, Exception], None]
) -> None:
    """Make each frame once and send it to every server in turn. A server that fails is closed and removed."""
    spent = dict.fromkeys(found, 0.0)
    for number in range(shape.brokers):
        frame = shape.frame(number)
        for key, brokers in list(found.items()):
            before = brokers.took_s
            try:
                if spent[key] > limit_s:
                    raise CellFailed(f"{number} of {shape.brokers} brokers registered within {limit_s:.0f} s")
                brokers.register(number, frame)
                spent[key] += brokers.took_s - before
            except (CellFailed, OSError) as error:
                failed(brokers.server, error)
                found.pop(key).close()
