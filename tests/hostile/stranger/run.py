"""One server, the strangers of one seed for a while, honest peers beside them; then the waits, and what remains."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.hostile.stranger import tables
from tests.hostile.stranger.honest import Honest
from tests.hostile.stranger.judging.bounds import (
    BEGINNING,
    CONNECTIONS_MAX,
    INCOMING_BYTES_MAX,
    JOURNAL_BUFFER_BYTES,
    KV_BYTES_MAX,
    LEFT_MAX,
    OUTGOING_BYTES_MAX,
    ROUTES_MAX,
)
from tests.hostile.stranger.judging.outcome import Outcome
from tests.hostile.stranger.opening import OPENING
from tests.hostile.stranger.playing import Ports
from tests.hostile.stranger.strangers import STEPS_MAX, Plan, Played
from tests.hostile.watch import Watch

ROOT = Path(__file__).resolve().parents[3]
SAMPLE_S = 0.1
OVERTIME_S = 120
FLOOD_S = 6.0


class Stage:
    """Ports, folders and properties for one server and its strangers."""

    def __init__(self, home: Path, seed: int, seconds: float, first: int = 0, last: int = STEPS_MAX) -> None:
        self.home, self.seconds, self.seed = home, seconds, seed
        self.ports = Ports(free_port(), free_port(), free_port())
        self.honest_port = free_port()
        self._opened = {"brokers": free_port(), "peers": free_port(), "seeds": free_port()}
        self.lines = home / "steps"
        home.mkdir(parents=True, exist_ok=True)
        self._plan = Plan(seed, first, last, seconds, self.ports, self._opened, str(self.lines))

    @property
    def properties(self) -> dict[str, object]:
        """All that opens ports or connections is switched on, and memory is bounded more tightly than by default."""
        peers = [f"127.0.0.{host}:{self._opened['peers']}" for host in (16, 17)]
        return {
            "listenPort": self.ports.server, "journalPath": self.home / "journal", "journalNs": "n1",
            "rocketns.adminPort": self.ports.management, "rocketns.addressServer": f"127.0.0.1:{self.ports.address}",
            "rocketns.peers": ";".join([f"127.0.0.1:{self.ports.server}", *peers]),
            "rocketns.seedServers": f"127.0.0.16:{self._opened['seeds']}", "rocketns.seedSeconds": 3,
            "rocketns.connectionsMax": CONNECTIONS_MAX, "rocketns.routesMax": ROUTES_MAX,
            "rocketns.incomingBytesMax": INCOMING_BYTES_MAX,
            "rocketns.outgoingBytesTotalMax": OUTGOING_BYTES_MAX,
            "rocketns.outgoingBytesMax": OUTGOING_BYTES_MAX, "rocketns.kvBytesMax": KV_BYTES_MAX,
            "rocketns.kvValueBytesMax": KV_BYTES_MAX // 2, "journalBufferBytes": JOURNAL_BUFFER_BYTES,
            "notifyMinBrokerIdChanged": "true", "scanNotActiveBrokerInterval": 1_000,
            "rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": 10, "rocketns.askNetworks": "127.0.0.0/8",
        }  # fmt: skip

    @contextlib.contextmanager
    def strangers(self, **other: object) -> Iterator[subprocess.Popen[bytes]]:
        """Their process, once they listen. They begin when they read a line. ``other`` fields of their plan."""
        command = [sys.executable, "-m", "tests.hostile.stranger.strangers", replace(self._plan, **other).write()]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == b"listening\n"
                yield process
            finally:
                process.kill()

    def read_steps(self, outcome: Outcome) -> None:
        lines = [json.loads(line) for line in self.lines.read_text("utf-8").splitlines()]
        outcome.played = [Played(**line) for line in lines if "number" in line]
        outcome.totals = lines[-1]

    def journal_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.home / "journal").rglob("*") if file.is_file())


class Sampling:
    """The peak of resident memory, and when it was."""

    def __init__(self, watch: Watch) -> None:
        self.growth, self.at_s = 0, 0.0
        self._watch, self._over = watch, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Sampling:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            growth = self._watch.rss() - self._watch.rss_before
            if growth > self.growth:
                self.growth, self.at_s = growth, time.monotonic()


def run(server: NameServer, stage: Stage, process: subprocess.Popen[bytes]) -> Outcome:
    """Play all steps, then look at what remains. The server ends."""
    outcome, watch = Outcome(stage.seed, server.mode), Watch(server)
    watch.rss_before = min(watch.rss_before, BEGINNING)  # seeds may have answered already
    honest = Honest(server, stage.ports, stage.honest_port, outcome.gauges.note)
    began_s = time.monotonic()
    try:
        with Sampling(watch) as sampling, honest:
            process.communicate(b"begin\n", stage.seconds + OVERTIME_S)
        assert process.returncode == 0, f"the strangers ended with {process.returncode}"
        stage.read_steps(outcome)
        outcome.seconds = time.monotonic() - began_s
        outcome.growth, outcome.grew_at_s = max(sampling.growth, watch.peak_growth()), sampling.at_s
        outcome.waits, outcome.failures, outcome.refused = honest.waits.of, honest.failures, honest.refused
        outcome.journal, outcome.log = stage.journal_bytes(), server.process.output.stat().st_size
        with server.connect() as client:
            outcome.behind = tables.of_strangers(tables.settled(client))
        _look_at_what_remains(watch, outcome)
        _compare_after_a_kill(server, outcome)
        _compare_after_a_kill_in_a_flood(server, stage, outcome)
        _look_at_the_end(server, outcome)
    finally:
        honest.end()
    return outcome


def _look_at_what_remains(watch: Watch, outcome: Outcome) -> None:
    with contextlib.suppress(AssertionError):  # free memory goes back every 10 s
        eventually(lambda: watch.rss() - watch.rss_before <= LEFT_MAX / 2, 15)
    outcome.left = watch.rss() - watch.rss_before
    try:
        eventually(lambda: watch.fds() <= watch.fds_before + 20)
    except AssertionError:
        outcome.wrong.append(f"{watch.fds()} file descriptors are open, {watch.fds_before} before")


def _compare_after_a_kill(server: NameServer, outcome: Outcome) -> None:
    """A restart from the journal gives the same answers. The unconfirmed brokers of strangers are not asked then."""
    with server.connect() as client:
        before = tables.settled(client)
    server.kill()
    with server.config_path.open("a", encoding="utf-8") as config:
        config.write("\nrocketns.askUnconfirmed=false\nrocketns.peers=\n")
    server.start()
    with server.connect() as client:
        differing = tables.differences(before, tables.read(client))
    outcome.answers = len(before)
    outcome.wrong += [f"after a kill and a restart: {one}" for one in differing]


def _compare_after_a_kill_in_a_flood(server: NameServer, stage: Stage, outcome: Outcome) -> None:
    """Strangers go on, the server is killed and started. What honest peers registered is there at once."""
    first = max(len(OPENING), min(played.number for played in outcome.played))
    with stage.strangers(seconds=FLOOD_S, first=first, lines=str(stage.home / "flood")) as process:
        with server.connect() as client:
            before = tables.honest(tables.read(client))
        assert process.stdin is not None
        process.stdin.write(b"begin\n")
        process.stdin.flush()
        time.sleep(FLOOD_S / 2)
        server.kill()
        server.start()
        with server.connect() as client:
            differing = tables.differences(before, tables.honest(tables.read(client)))
    outcome.wrong += [f"after a kill and a restart in a flood: {one}" for one in differing]


def _look_at_the_end(server: NameServer, outcome: Outcome) -> None:
    status = server.stop()
    outcome.wrong += [f"exit status {status}"] if status else []
    log = server.process.output.read_text("utf-8", "replace")
    at = log.find("Traceback")
    outcome.wrong += [f"the log has a stack: {log[max(0, at - 500) : at + 2_000]}"] if at >= 0 else []
    outcome.losses = re.findall("the journal's records are lost, .*", log)
