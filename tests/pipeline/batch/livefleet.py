"""A fleet of three name servers, each a process with the journal's defaults, and brokers that register with all of them
over sockets. Its time moves when the test says so.

``python -m tests.pipeline.batch.livefleet HOME EPOCH_MS KEY=VALUE…`` is one name server. Its clock moves only when a
line on standard input gives a number of ms. It prints its port, and a line after each move.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.support.inprocess import FakeClock, TimedServer

EPOCH_MS = 1_700_000_000_000
HEARTBEAT_S = 30
PART_S = 2
# How often a broker gets another topic. Its data version shows how far the clocks differ.
CHANGE_S = 120


class NameServer:
    """One process; ``epoch_ms``: its clock at the start."""

    def __init__(self, home: Path, journal: Path, ns: str, epoch_ms: int) -> None:
        home.mkdir(parents=True)
        settings = (f"journalPath={journal}", f"journalNs={ns}", "rocketns.reactors=1")
        command = [sys.executable, "-m", "tests.pipeline.batch.livefleet", str(home), str(epoch_ms), *settings]
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
        assert self.process.wait(600) == 0

    def kill(self) -> None:
        self.is_up = False
        self.process.kill()
        self.process.wait(600)


class Broker:
    """A broker with a connection to each name server. ``deaf``: name servers that do not get its heartbeats."""

    def __init__(self, number: int, servers: Sequence[NameServer]) -> None:
        self.name, self.addr, self.phase = f"broker-{number}", f"10.0.0.{number}:10911", number * 7
        self.clients = {server.ns: (server, Client(server.port)) for server in servers}
        self.deaf: set[str] = set()
        self.changes = 0

    def act(self, second: int) -> None:
        """Send what is due in this step."""
        if (second - self.phase) % CHANGE_S < PART_S:
            self.changes += 1
        if second == 0 or (second - self.phase) % HEARTBEAT_S < PART_S:
            self.register()

    def register(self) -> None:
        body = register_body([topic_config(f"T{n}") for n in range(self.changes + 3)], data_version(self.changes + 1))
        fields = register_ext("C", self.name, self.addr, 0, body)
        for ns, (server, client) in self.clients.items():
            if server.is_up and ns not in self.deaf:
                assert client.request(codes.REGISTER_BROKER, fields, body).code == 0


class Fleet:
    """``ahead_ms``: by how much the clock of each name server is ahead. ``seconds``: how long the fleet has lived."""

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

    def live(self, seconds: int) -> None:
        """Let this much time pass."""
        for _ in range(0, seconds, PART_S):
            for broker in self.brokers:
                broker.act(self.seconds)
            running = [server for server in self.servers if server.is_up]
            for server in running:
                server.begin(PART_S)
            for server in running:
                server.end()
            self.seconds += PART_S

    def cut(self, broker: int, ns: str) -> None:
        """From now on the broker's heartbeats do not reach the name server."""
        self.brokers[broker].deaf.add(ns)

    def kill(self, ns: str) -> None:
        """End a name server without a stop record."""
        next(server for server in self.servers if server.ns == ns).kill()

    def stop(self) -> None:
        for broker in self.brokers:
            for _, client in broker.clients.values():
                client.close()
        for server in self.servers:
            if server.is_up:
                server.stop()


# Jobs that run later than a second look like a stall of the process.
STEP_MS = 1_000
WRITTEN_WITHIN_S = 600.0


def main(home: str, epoch_ms: str, *properties: str) -> None:
    """Serve until standard input ends; then stop as on SIGTERM."""
    settings: dict[str, object] = dict(text.split("=", 1) for text in properties)
    server = TimedServer(Path(home), settings, FakeClock(int(epoch_ms)))
    print(server.port, flush=True)
    for line in sys.stdin:
        for _ in range(0, int(line), STEP_MS):
            server.advance(STEP_MS)
        journal = server.controller.journal
        assert journal is not None
        print(journal.writer.wait_until_settled(WRITTEN_WITHIN_S), flush=True)
    server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
