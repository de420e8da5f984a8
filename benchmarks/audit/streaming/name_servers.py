"""Three real name servers with a journal, and brokers that register with all of them over sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client

NAMES = ("n1", "n2", "n3")
ROTATION_S = 5
# RocketMQ's default.
HEARTBEAT_S = 30.0
TOPICS = 3


def servers(folder: Path, stack: ExitStack) -> list[RocketnsServer]:
    """One after the other, with one journal folder; they end with the stack."""
    usual = {"journalPath": folder / "journal", "journalRotationSeconds": ROTATION_S, "rocketns.reactors": 1}

    def started(name: str) -> RocketnsServer:
        server = RocketnsServer(folder / name, usual | {"journalNs": name})
        stack.callback(server.stop)
        return server

    return [started(name) for name in NAMES]


@dataclass
class Broker:
    """``timeout_s``: after which a name server drops it. ``clients``: its connections, by name server; ``deaf``: name
    servers to which it sends nothing more. Times are epoch s."""

    number: int
    timeout_s: float
    due: float
    clients: dict[str, Client] = field(default_factory=dict)
    deaf: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return f"broker-{self.number:02d}"

    def register(self) -> None:
        """A registration, which is a heartbeat too, at all name servers that it reaches."""
        body = register_body([topic_config(f"{self.name}-topic-{n}") for n in range(TOPICS)], data_version(1))
        more = {"heartbeatTimeoutMillis": round(self.timeout_s * 1000)}
        ext = register_ext("C1", self.name, f"10.0.0.{self.number + 1}:10911", 0, body, **more)
        for ns, client in self.clients.items():
            if ns not in self.deaf:
                code = client.request(codes.REGISTER_BROKER, ext, body).code
                if code != codes.SUCCESS:
                    raise RuntimeError(f"{ns} refused {self.name}: code {code}")
        self.due += HEARTBEAT_S


class Registrar:
    """Sends the heartbeats of all brokers from a thread, spread over the period."""

    def __init__(self, running: Sequence[RocketnsServer], brokers: int, timeout_s: float) -> None:
        now = time.time()
        self.brokers = [Broker(n, timeout_s, now + n * HEARTBEAT_S / brokers) for n in range(brokers)]
        for broker in self.brokers:
            broker.clients = {ns: server.connect() for ns, server in zip(NAMES, running, strict=True)}
        self._stopping, self._turn = threading.Event(), threading.Lock()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        try:
            while not self._stopping.is_set():
                broker = min(self.brokers, key=lambda one: one.due)
                if not self._stopping.wait(max(0.0, broker.due - time.time())):
                    with self._turn:
                        broker.register()
        except Exception as error:
            self._failure = error

    def part(self, broker: Broker, ns: str, *, close: bool) -> tuple[float, float]:
        """From now on the broker does not reach the name server; its connection there is closed or stays open. Returns
        now, and when the first heartbeat is lost."""
        with self._turn:
            broker.deaf.add(ns)
            if close:
                broker.clients[ns].close()
            return time.time(), broker.due

    def check(self) -> None:
        """Raise what ended the thread."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(HEARTBEAT_S)
        for broker in self.brokers:
            for client in broker.clients.values():
                client.close()
