"""A fleet of three name servers, each a process with the journal's defaults, and brokers that register with all of them
over sockets. Its time is moved by a thread, faster than real time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client

EPOCH_MS = 1_700_000_000_000
HEARTBEAT_S = 30
STEP_S = 2
# Real seconds for a step: 20 times real time.
PACE_S = 0.1
# How often a broker gets another topic. Its data version shows how far the clocks differ.
CHANGE_S = 120


class NameServer:
    """One process; ``epoch_ms``: its clock at the start."""

    def __init__(self, home: Path, journal: Path, ns: str, epoch_ms: int) -> None:
        home.mkdir(parents=True)
        settings = (f"journalPath={journal}", f"journalNs={ns}", "rocketns.reactors=1")
        command = [sys.executable, "-m", "tests.pipeline.batch.live.clocked", str(home), str(epoch_ms), *settings]
        with (home / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
            )
        self.ns = ns
        self.port = int(self._said())
        self.is_up = True

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def begin(self, seconds: int) -> None:
        """Move its clock."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds * 1000}\n")

    def end(self) -> None:
        """Wait until it has moved, and its journal is written."""
        assert self._said() == "True\n"

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(30) == 0

    def kill(self) -> None:
        self.is_up = False
        self.process.kill()
        self.process.wait(30)


class Broker:
    """A broker with a connection to each name server. ``deaf``: name servers that do not get its heartbeats."""

    def __init__(self, number: int, servers: Sequence[NameServer]) -> None:
        self.name, self.addr, self.phase = f"broker-{number}", f"10.0.0.{number}:10911", number * 7
        self.clients = {server.ns: (server, Client(server.port)) for server in servers}
        self.deaf: set[str] = set()
        self.changes = 0

    def act(self, second: int) -> None:
        """Send what is due in this step."""
        if (second - self.phase) % CHANGE_S < STEP_S:
            self.changes += 1
        if second == 0 or (second - self.phase) % HEARTBEAT_S < STEP_S:
            self.register()

    def register(self) -> None:
        body = register_body([topic_config(f"T{n}") for n in range(self.changes + 3)], data_version(self.changes + 1))
        fields = register_ext("C", self.name, self.addr, 0, body)
        for ns, (server, client) in self.clients.items():
            if server.is_up and ns not in self.deaf:
                assert client.request(codes.REGISTER_BROKER, fields, body).code == 0


class Fleet:
    """``ahead_ms``: by how much the clock of each name server is ahead. ``seconds``: how long the fleet has lived.

    After `start` its time goes on in a thread.
    """

    def __init__(
        self, folder: Path, ahead_ms: Sequence[int] = (0, 0, 0), epoch_ms: int = EPOCH_MS, brokers: int = 4
    ) -> None:
        self.journal = folder / "journal"
        self.servers = [
            NameServer(folder / f"n{number}", self.journal, f"n{number}", epoch_ms + ahead)
            for number, ahead in enumerate(ahead_ms, 1)
        ]
        self.brokers = [Broker(number, self.servers) for number in range(1, brokers + 1)]
        self.seconds = 0
        self._stopping = threading.Event()
        self._turn = threading.Lock()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._live, daemon=True)

    def live(self, seconds: int) -> None:
        """Let this much time pass."""
        for _ in range(0, seconds, STEP_S):
            self._step()

    def _step(self) -> None:
        with self._turn:
            for broker in self.brokers:
                broker.act(self.seconds)
            running = [server for server in self.servers if server.is_up]
            for server in running:
                server.begin(STEP_S)
            for server in running:
                server.end()
            self.seconds += STEP_S

    def start(self) -> None:
        """Let time pass in a thread until `stop`."""
        self._thread.start()

    def _live(self) -> None:
        try:
            while not self._stopping.wait(PACE_S):
                self._step()
        except BaseException as error:
            self._failure = error

    def check(self) -> None:
        """Raise the error that ended the thread."""
        if self._failure is not None:
            raise self._failure

    def cut(self, broker: int, ns: str) -> int:
        """From now on the broker's heartbeats do not reach the name server; returns the second."""
        with self._turn:
            self.brokers[broker].deaf.add(ns)
            return self.seconds

    def kill(self, ns: str) -> int:
        """End a name server without a stop record; returns the second."""
        with self._turn:
            next(server for server in self.servers if server.ns == ns).kill()
            return self.seconds

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(30)
        for broker in self.brokers:
            for _, client in broker.clients.values():
                client.close()
        for server in self.servers:
            if server.is_up:
                server.stop()
        self.check()
