"""Brokers, clients, probes and readers of the address list that behave normally: how long each waits, what it is told.

Nobody ends at a wrong answer or a closed connection: it is kept with its time, and the peer connects again.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame, json_header
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.hostile.stranger.playing import Ports
from tests.hostile.watch import cpu_seconds

PAUSE_S = 0.1
ANSWER_S_MAX = 60
LARGE_TOPICS, PADDING = 1_600, "x" * 750  # 1.6 MB
REGISTRATION, LOOKUP = "a known broker's registration", "a lookup"
IN_PARTS = "a known broker's registration of 1.6 MB in three parts"
OF_NEW = (FIRST_REGISTRATION, FIRST_LOOKUP) = ("a new broker's first registration", "a new client's lookup")
ALIVE, LISTED = "/livez", "the list of the address server"


@dataclass(frozen=True)
class Wait:
    """Seconds, and from when to when by the monotonic clock."""

    seconds: float
    began_s: float
    ended_s: float


@dataclass(frozen=True)
class Failure:
    """An honest peer was not answered, or wrongly."""

    what: str
    at_s: float


@dataclass
class Waits:
    """Seconds, by the clock or by the server's CPU time, whichever is less: other programs' work is not counted."""

    server: NameServer
    of: dict[str, list[Wait]] = field(default_factory=dict)

    def measure(self, what: str, ask: Callable[[], object]) -> None:
        cpu_s, clock_s = cpu_seconds(self.server), time.monotonic()
        ask()
        ended_s = time.monotonic()
        waited = min(cpu_seconds(self.server) - cpu_s, ended_s - clock_s)
        self.of.setdefault(what, []).append(Wait(waited, clock_s, ended_s))


class HonestNames(Names):
    """At addresses where somebody listens, so that nobody is taken for gone. No stranger uses the names."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.cluster, self.broker = f"honest-cluster-{self.number}", f"honest-broker-{self.number}"

    def addr(self, host: int = 1) -> str:
        return f"127.0.0.{60 + host}:{self._port}"

    def topic(self, name: str = "T") -> str:
        return f"honest-{name}-{self.number}"


class Honest:
    """While it is entered: known brokers and clients that stay connected, new ones, and askers of the other ports."""

    def __init__(self, server: NameServer, ports: Ports, port: int) -> None:
        """``port`` is that of honest brokers."""
        self.waits = Waits(server)
        self.failures: list[Failure] = []
        self._ports, self._port, self._server = ports, port, server
        self.small, self.large = HonestNames(port), HonestNames(port)
        self._listening = [socket.create_server((f"127.0.0.{host}", port), backlog=256) for host in (61, 62)]
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(peer,)) for peer in (
            self._stays, self._sends_parts, self._comes, self._manages, self._discovers)]  # fmt: skip
        self.known = contextlib.ExitStack()  # the connections of known brokers, which outlast the others
        self._clients: dict[str, Client] = {}

    def __enter__(self) -> Honest:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def end(self) -> None:
        """The known brokers leave, too."""
        self.known.close()
        for one in self._listening:
            one.close()

    def _go_on(self, peer: Callable[[], None]) -> None:
        while not self._over.wait(PAUSE_S):
            try:
                peer()
            except (AssertionError, OSError, HTTPException) as error:
                name = peer.__name__.strip("_").replace("_", " ")
                self.failures.append(Failure(f"who {name}: {error or type(error).__name__}", time.monotonic()))
                self._clients.pop(peer.__name__, None)

    def client(self, whose: str) -> Client:
        """The connection of a known peer, opened anew if it failed."""
        if whose not in self._clients:
            self._clients[whose] = self.known.enter_context(Client(self._ports.server, timeout_s=ANSWER_S_MAX))
        return self._clients[whose]

    def _stays(self) -> None:
        client, names = self.client("_stays"), self.small
        self.waits.measure(REGISTRATION, lambda: registered(client, names))
        self.waits.measure(LOOKUP, lambda: found(ask_route(client, names.topic("T")).code))

    def _sends_parts(self) -> None:
        client, sent = self.client("_sends_parts"), large_registration(self.large)
        third = len(sent) // 3
        for part in (sent[:third], sent[third : 2 * third]):
            client.send(part)
            self._over.wait(PAUSE_S)

        def send_the_rest() -> None:
            client.send(sent[2 * third :])
            found(client.receive().code)

        self.waits.measure(IN_PARTS, send_the_rest)

    def _comes(self) -> None:
        names = HonestNames(self._port)
        with Client(self._ports.server, timeout_s=ANSWER_S_MAX) as client:
            self.waits.measure(FIRST_REGISTRATION, lambda: registered(client, names))
            self.waits.measure(FIRST_LOOKUP, lambda: found(ask_route(client, names.topic("T")).code))

    def _manages(self) -> None:
        self.waits.measure(ALIVE, lambda: ok(*http(self._ports.management, "/livez")))

    def _discovers(self) -> None:
        self.waits.measure(LISTED, lambda: ok(*http(self._ports.address, "/rocketmq/nsaddr")))


def found(code: int) -> None:
    assert code == codes.SUCCESS, f"answered with code {code}"


def ok(status: int, body: bytes) -> None:
    assert status == 200, f"answered {status}: {body[:200]!r}"
    assert body.strip(), "an empty answer"


def http(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_S_MAX)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def large_registration(names: HonestNames) -> bytes:
    """A frame of 1.6 MB."""
    topics = [topic_config(names.topic(f"L{n}")) | {"attributes": {"+a": PADDING}} for n in range(LARGE_TOPICS)]
    body = register_body(topics)
    ext = register_ext(names.cluster, names.broker, names.addr(2), body=body)
    return frame(json_header(codes.REGISTER_BROKER, ext, opaque=1), body)
