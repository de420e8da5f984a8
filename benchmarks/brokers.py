"""Pretended brokers that share topics: registered with a server, kept alive, and closed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.failures import CellFailed
from benchmarks.process import Spent, spent_by
from benchmarks.registrations import broker_host, broker_name, plain_body, registration, route_body, spread
from benchmarks.running import Server
from interop.harness import codes
from interop.harness.wire import Client

# rocketmq-rust closes a connection that is silent for 120 s, and there is no setting for it.
TOUCH_EVERY_S = 40.0


@dataclass(frozen=True)
class Shape:
    """So many brokers that share so many topics, each topic on ``width`` of them."""

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
class Fleet:
    """The brokers' connections to one server."""

    server: Server
    clients: list[Client] = field(default_factory=list)
    # What the registrations cost so far.
    cpu_s: float = 0.0
    took_s: float = 0.0
    waits_s: list[float] = field(default_factory=list)
    _touched: float = field(default_factory=time.monotonic)

    def register(self, number: int, frame: bytes) -> None:
        """Register one broker, on its own connection; again, if it has one."""
        if number == len(self.clients):
            self.clients.append(self.server.connect())
        spent = send(self.server, self.clients[number], frame)
        self.cpu_s += spent.cpu_s
        self.took_s += spent.took_s
        self.waits_s.append(spent.took_s)

    def keep_alive(self) -> None:
        """A small request on each connection that might be closed for its silence otherwise."""
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
    """Send a registration and wait until it is accepted; what it cost the server. CellFailed if it is refused."""
    with spent_by(server.pid) as spent:
        client.send(frame)
        answer = client.receive()
    if answer.code != codes.SUCCESS:
        raise CellFailed(f"registration refused: code {answer.code}: {answer.remark}")
    return spent


@contextlib.contextmanager
def fleets(servers: list[Server], shape: Shape, limit_s: float,
           failed: Callable[[Server, Exception], None]) -> Iterator[dict[str, Fleet]]:  # fmt: skip
    """The shape's brokers with each server, by its key. A server that refuses, or takes longer than ``limit_s`` for
    all of them, has no fleet, and ``failed`` is told why."""
    found = {server.kind.key: Fleet(server) for server in servers}
    try:
        register_all(found, shape, limit_s, failed)
        yield found
    finally:
        for fleet in found.values():
            fleet.close()


def register_all(
    fleets: dict[str, Fleet], shape: Shape, limit_s: float, failed: Callable[[Server, Exception], None]
) -> None:
    """Each frame is made once and goes to every server in turn; who fails is closed and taken out."""
    spent = dict.fromkeys(fleets, 0.0)
    for number in range(shape.brokers):
        frame = shape.frame(number)
        for key, fleet in list(fleets.items()):
            before = fleet.took_s
            try:
                if spent[key] > limit_s:
                    raise CellFailed(f"{number} of {shape.brokers} brokers registered within {limit_s:.0f} s")
                fleet.register(number, frame)
                spent[key] += fleet.took_s - before
            except (CellFailed, OSError) as error:
                failed(fleet.server, error)
                fleets.pop(key).close()
