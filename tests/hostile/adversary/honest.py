"""Brokers and clients that behave normally, and how long each of them waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.hostile.watch import cpu_seconds

PAUSE_S = 0.1
OF_NEW = (FIRST_REGISTRATION, FIRST_LOOKUP) = ("a new broker's first registration", "a new client's lookup")


@dataclass
class Waits:
    """Seconds, by the clock or by the server's CPU time, whichever is less: other programs' work is not counted."""

    server: NameServer
    of: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, what: str, ask: Callable[[], object]) -> None:
        cpu_s, clock_s = cpu_seconds(self.server), time.monotonic()
        ask()
        waited = min(cpu_seconds(self.server) - cpu_s, time.monotonic() - clock_s)
        self.of.setdefault(what, []).append(waited)


class Honest:
    """Until ``over`` is set: one broker and one client that stay connected, and new brokers and clients."""

    def __init__(self, server: NameServer) -> None:
        self.waits = Waits(server)
        self.failures: list[BaseException] = []
        self.over = threading.Event()
        self._server = server
        self._threads = [threading.Thread(target=self._run, args=(peer,)) for peer in (self._stays, self._comes)]

    def __enter__(self) -> Honest:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, peer: Callable[[], None]) -> None:
        try:
            peer()
        except BaseException as failure:
            self.failures.append(failure)

    def _stays(self) -> None:
        names = Names()
        with self._server.connect() as client:
            client.socket.settimeout(60)
            registered(client, names)
            while not self.over.wait(PAUSE_S):
                self.waits.measure("a known broker's registration", lambda: registered(client, names))
                self.waits.measure("a lookup", lambda: found(ask_route(client, names.topic("T")).code))

    def _comes(self) -> None:
        while not self.over.wait(PAUSE_S):
            with self._server.connect() as client:
                client.socket.settimeout(60)
                self._begin(client, Names())

    def _begin(self, client: Client, names: Names) -> None:
        self.waits.measure(FIRST_REGISTRATION, lambda: registered(client, names))
        self.waits.measure(FIRST_LOOKUP, lambda: found(ask_route(client, names.topic("T")).code))


def found(code: int) -> None:
    assert code == codes.SUCCESS, code
