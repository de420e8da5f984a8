"""``python -m tests.hostile.stranger``: strangers of several seeds, with honest peers beside them; then what remains.

``--seed 7 --steps 20-40`` plays some steps of one seed again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from interop.harness.ports import free_port
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import eventually
from rocketns.admin.gate import CONNECTIONS_MAX as ADMIN_CONNECTIONS_MAX
from rocketns.config import NamesrvConfig
from rocketns.server.connections.totals import EXCESS_PARTS
from tests.hostile.conftest import spare_the_machine
from tests.hostile.stranger.honest import Failure, Honest, differences, honest_of, of_strangers, read, settled
from tests.hostile.stranger.playing import STEPS_MAX, Plan, Played, Ports
from tests.hostile.stranger.steps import OPENING, port_of
from tests.hostile.test_outputs import LOG_BYTES
from tests.hostile.witness import MB, open_files

# Strangers come from three hosts. With less they could look like brokers, and who holds less than half of an even share
# of the total is not closed by it: docs/limits.md says both.
INCOMING_BYTES_MAX = OUTGOING_BYTES_MAX = 64 * MB
CONNECTIONS_MAX = 4_000
KV_BYTES_MAX = JOURNAL_BUFFER_BYTES = 4 * MB
TURN_BYTES = 2 * (256 << 10)  # a turn of each of two reactors
UNFINISHED = INCOMING_BYTES_MAX + INCOMING_BYTES_MAX // EXCESS_PARTS + TURN_BYTES
UNSENT = OUTGOING_BYTES_MAX + OUTGOING_BYTES_MAX // EXCESS_PARTS + TURN_BYTES
JOURNAL_WAITING = 2 * JOURNAL_BUFFER_BYTES
ROUTES_MAX = 100_000

# What the server says of itself, by the names and labels of its metrics. Nothing lost: no record, no write.
_CONFIG = NamesrvConfig()

GAUGES: dict[str, float] = {
    'rocketns_connection_bytes{direction="incoming"}': UNFINISHED,
    'rocketns_connection_bytes{direction="outgoing"}': UNSENT,
    'rocketns_queue_bytes{queue="requests"}': INCOMING_BYTES_MAX,
    'rocketns_queue_bytes{queue="reactors"}': INCOMING_BYTES_MAX,
    'rocketns_queue_length{queue="unregistrations"}': _CONFIG.un_register_broker_queue_capacity,
    'rocketns_queue_length{queue="files"}': 10_000,
    'rocketns_queue_length{queue="log"}': 20_000,
    "rocketns_kv_bytes": KV_BYTES_MAX,
    "rocketns_routes_held": ROUTES_MAX,
    "rocketns_journal_waiting_bytes": JOURNAL_WAITING,
    "rocketns_journal_dropped_records_total": 0,
    "rocketns_journal_write_failures_total": 0,
    "rocketns_file_write_failures_total": 0,
    "rocketns_admin_connections": ADMIN_CONNECTIONS_MAX,
}


SAMPLE = re.compile(r"^(\w+(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)


@dataclass
class Gauges:
    """``most`` and ``at_s`` by the sample's name with its labels. ``at_s`` is of the monotonic clock."""

    most: dict[str, float] = field(default_factory=dict)
    at_s: dict[str, float] = field(default_factory=dict)

    def note(self, scrape: bytes, now_s: float) -> None:
        """One answer of /metrics."""
        for sample, number in SAMPLE.findall(scrape.decode("utf-8", "replace")):
            if sample in GAUGES and float(number) > self.most.get(sample, -1.0):
                self.most[sample], self.at_s[sample] = float(number), now_s

    def beyond(self) -> list[tuple[str, float]]:
        """What is beyond its bound, and when that was. No scrape at all is beyond every bound."""
        missing = [(f"{sample} was never scraped", 0.0) for sample in GAUGES if sample not in self.most]
        return missing + [(f"{sample} was {most:.0f}, more than {GAUGES[sample]:.0f}", self.at_s[sample])
                          for sample, most in self.most.items() if most > GAUGES[sample]]  # fmt: skip

    def lines(self) -> list[str]:
        """Of the report."""
        return [f"{sample}: {most:.0f} at the most, of {GAUGES[sample]:.0f}" for sample, most in self.most.items()]


SHOWN = 4
HONEST_BYTES = 30 * MB  # of the log, for the honest peers


ROOT = Path(__file__).resolve().parents[3]
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
        command = [sys.executable, "-m", "tests.hostile.stranger.playing", replace(self._plan, **other).write()]
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


def _compare_after_a_kill(server: NameServer, outcome: Outcome) -> None:
    """A restart from the journal gives the same answers. The unconfirmed brokers of strangers are not asked then."""
    with server.connect() as client:
        before = settled(client)
    server.kill()
    with server.config_path.open("a", encoding="utf-8") as config:
        config.write("\nrocketns.askUnconfirmed=false\nrocketns.peers=\n")
    server.start()
    with server.connect() as client:
        differing = differences(before, read(client))
    outcome.answers = len(before)
    outcome.wrong += [f"after a kill and a restart: {one}" for one in differing]


def _compare_after_a_kill_in_a_flood(server: NameServer, stage: Stage, outcome: Outcome) -> None:
    """Strangers go on, the server is killed and started. What honest peers registered is there at once."""
    first = max(len(OPENING), min(played.number for played in outcome.played))
    with stage.strangers(seconds=FLOOD_S, first=first, lines=str(stage.home / "flood")) as process:
        with server.connect() as client:
            before = honest_of(read(client))
        assert process.stdin is not None
        process.stdin.write(b"begin\n")
        process.stdin.flush()
        time.sleep(FLOOD_S / 2)
        server.kill()
        server.start()
        with server.connect() as client:
            differing = differences(before, honest_of(read(client)))
    outcome.wrong += [f"after a kill and a restart in a flood: {one}" for one in differing]


def _look_at_the_end(server: NameServer, outcome: Outcome) -> None:
    status = server.stop()
    outcome.wrong += [f"exit status {status}"] if status else []
    log = server.process.output.read_text("utf-8", "replace")
    at = log.find("Traceback")
    outcome.wrong += [f"the log has a stack: {log[max(0, at - 500) : at + 2_000]}"] if at >= 0 else []
    outcome.losses = re.findall("the journal's records are lost, .*", log)


REPLAY_S = 120.0


@dataclass
class Outcome:
    """``wrong`` is whatever else should not be, ``losses`` what the log says of the journal's, with the reason."""

    seed: int
    behind: str = ""
    failures: list[Failure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=Gauges)
    log: int = 0
    answers: int = 0
    refused: int = 0

    @property
    def frames(self) -> int:
        return sum(self.totals.get("frames", {}).values())

    def lines(self) -> list[str]:
        """The report."""
        return [f"seed {self.seed}: {len(self.played)} steps, {self.frames} frames, sent by port: {self._by_port()}",
                f"connections that the server opened: {self.totals.get('accepted', {})}",
                *self.gauges.lines(),
                f"honest requests refused with full tables: {self.refused}",
                f"strangers left behind: {self.behind}",
                *self.losses,
                f"{self.answers} answers compared after a kill and a restart"]  # fmt: skip

    def _by_port(self) -> str:
        ports = Counter[str]()
        for kind, size in self.totals.get("sent", {}).items():
            ports[port_of(kind.partition(":")[0])] += size
        return ", ".join(f"{port} {size / MB:.1f} MB" for port, size in ports.most_common())

    def faults(self) -> list[str]:
        """What is beyond the stated bounds, with the steps that went on then."""
        failed = [f"{failure.what}{self._then(failure.at_s)}" for failure in self.failures[:SHOWN]]
        told = [f"{what}{self._then(at_s)}" for what, at_s in self.gauges.beyond()]
        log_max = HONEST_BYTES + LOG_BYTES * self.frames
        logged = [f"the log grew by {self.log} bytes, more than {log_max}"] if self.log > log_max else []
        return [*failed, *told, *logged, *self.wrong]

    def _then(self, at_s: float) -> str:
        """The steps until this time of the monotonic clock, and how to play them again."""
        at_once = [one for one in self.played if one.began_s <= at_s and one.ended_s >= at_s - 5]
        if not at_once:
            return ""
        numbers = [one.number for one in at_once]
        return "".join([f"\n    python -m tests.hostile.stranger --seed {self.seed} "
                        f"--steps {max(0, min(numbers) - 1)}-{max(numbers)}",
                        *(f"\n      {one.step}" for one in at_once[:12])])  # fmt: skip


def run(server: NameServer, stage: Stage, process: subprocess.Popen[bytes]) -> Outcome:
    """Play all steps, then look at what remains. The server ends."""
    outcome, files_before = Outcome(stage.seed), open_files(server)
    honest = Honest(server, stage.ports, stage.honest_port, outcome.gauges.note)
    try:
        with honest:
            process.communicate(b"begin\n", stage.seconds + OVERTIME_S)
        assert process.returncode == 0, f"the strangers ended with {process.returncode}"
        stage.read_steps(outcome)
        outcome.failures, outcome.refused = honest.failures, honest.refused
        outcome.log = server.process.output.stat().st_size
        with server.connect() as client:
            outcome.behind = of_strangers(settled(client))
        eventually(lambda: open_files(server) <= files_before + 20)
        _compare_after_a_kill(server, outcome)
        _compare_after_a_kill_in_a_flood(server, stage, outcome)
        _look_at_the_end(server, outcome)
    finally:
        honest.end()
    return outcome


def attack(kind: type[NameServer], seed: int, seconds: float, first: int = 0, last: int = STEPS_MAX) -> Outcome:
    """A server under the steps from ``first`` to before ``last``."""
    with tempfile.TemporaryDirectory() as home:
        stage = Stage(Path(home), seed, seconds, first, last)
        with stage.strangers() as process:
            server = kind(Path(home) / "ns", stage.properties)
            try:
                spare_the_machine(server)
                return run(server, stage, process)
            finally:
                server.kill()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.stranger", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="how many seeds (4)")
    parser.add_argument("--first", type=int, default=int(time.time()), help="the first of them (the time)")
    parser.add_argument("--minutes", type=float, default=8, help="of all seeds together (8)")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--steps", help="only these steps of it: 20-40")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    first, last, seconds = 0, STEPS_MAX, given.minutes * 60 / len(seeds)
    if given.steps:
        first, last = (int(number) for number in given.steps.split("-"))
        last, seconds = last + 1, REPLAY_S
    faults = 0
    for seed in seeds:
        outcome = attack(RocketnsServer, seed, seconds, first, last)
        faults += len(outcome.faults())
        print("\n".join([*outcome.lines(), *(f"FAULT: {fault}" for fault in outcome.faults()), ""]), flush=True)
    print(f"{faults} faults" if faults else "everything within its bounds")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
