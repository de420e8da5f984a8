"""``python -m tests.hostile.stranger``: strangers of several seeds, with honest peers beside them; then what remains.

``--seed 7 --steps 20-40`` plays some steps of one seed again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from interop.harness import codes
from interop.harness.payloads import dumps, register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.config import Limits, NamesrvConfig
from rocketns.server.http.connections import CONNECTIONS_MAX as ADMIN_CONNECTIONS_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, loads
from tests.hostile.conftest import spare_the_machine
from tests.hostile.stranger.playing import STEPS_MAX, Plan
from tests.hostile.stranger.steps import ADDRESS, MANAGEMENT
from tests.hostile.test_outputs import LOG_BYTES
from tests.hostile.witness import MB, open_files
from tests.support.histories import REQUESTS, Ask, Peers, kv, steps_of, switch

# Strangers come from three hosts. With less they could look like brokers, and who holds less than half of an even share
# of the total is not closed by it: docs/design/limits.md says both.
INCOMING_BYTES_MAX = OUTGOING_BYTES_MAX = 64 * MB
CONNECTIONS_MAX = 4_000
KV_BYTES_MAX = JOURNAL_BUFFER_BYTES = 4 * MB
TURN_BYTES = 2 * (256 << 10)  # a turn of each of two reactors
EXCESS_PARTS = 8  # as in _fast/reactor/connection_table.pxd
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


HONEST_BYTES = 30 * MB  # of the log, for the honest peers
ROOT = Path(__file__).resolve().parents[3]
OVERTIME_S, REPLAY_S, PAUSE_S = 120, 120.0, 0.1
ANSWER_S_MAX, SETTLES_WITHIN_S = 60, 60
TOPICS_MAX = 20_000
DIFFERENCES_SHOWN, FAILURES_SHOWN, STEPS_SHOWN = 10, 4, 12
JSON_FACTOR = 6  # of a control character in a name
NAME_BYTES_MAX = Limits().name_bytes_max


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


@dataclass
class Outcome:
    """``failures`` have the time of the monotonic clock; 0: no step is to blame."""

    seed: int
    failures: list[tuple[str, float]] = field(default_factory=list)
    steps: list[tuple[str, float, float]] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=Gauges)
    answers: int = 0

    def lines(self) -> list[str]:
        """The report."""
        return [f"seed {self.seed}: {len(self.steps)} steps, {self.totals}", *self.gauges.lines(),
                f"{self.answers} answers compared after a kill and a restart"]  # fmt: skip

    def faults(self) -> list[str]:
        """What is beyond the stated bounds, with the steps that went on then."""
        found = [*self.failures[:FAILURES_SHOWN], *self.gauges.beyond()]
        return [f"{what}{self._then(at_s) if at_s else ''}" for what, at_s in found]

    def _then(self, at_s: float) -> str:
        at_once = [text for text, began_s, ended_s in self.steps if began_s <= at_s and ended_s >= at_s - 5]
        numbers = [int(text.split()[1].rstrip(":")) for text in at_once] or [0]
        again = f"python -m tests.hostile.stranger --seed {self.seed} --steps {min(numbers)}-{max(numbers)}"
        return "".join(f"\n    {line}" for line in (again, *at_once[:STEPS_SHOWN]))


class Honest:
    """While it is entered: brokers and clients that stay connected, new ones, and askers of the other ports."""

    def __init__(self, ports: dict[str, int], port: int, outcome: Outcome) -> None:
        """``port`` is that of honest brokers."""
        self._ports, self._port, self._outcome = ports, port, outcome
        self._small, self._large = HonestNames(port), HonestNames(port)
        self._history, self._numbers = self._peers(), itertools.count()
        self._over = threading.Event()
        self._peers_of_server = (self._stays, self._sends_parts, self._changes, self._looks, self._asks)
        self._threads = [threading.Thread(target=self._go_on, args=(one,)) for one in self._peers_of_server]
        self.known = contextlib.ExitStack()  # what outlasts the strangers
        self._clients: dict[str, Client] = {}
        for host in (61, 62):
            self.known.enter_context(socket.create_server((f"127.0.0.{host}", port), backlog=256))

    def _peers(self) -> Peers:
        names = HonestNames(self._port)
        homes = {names.addr(host): (names.cluster, names.broker, str(host - 1)) for host in (1, 2)}
        topics = [names.topic(one) for one in "TUVWXYZ"]
        return Peers(homes, [names.cluster], [names.broker], topics, careful=True)

    def __enter__(self) -> Honest:
        """Known brokers have registered, before any stranger comes."""
        self._stays()
        self._sends_parts()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, peer: Callable[[], None]) -> None:
        while not self._over.wait(PAUSE_S):
            try:
                peer()
            except (AssertionError, OSError, HTTPException) as error:
                what = f"who{peer.__name__.replace('_', ' ')}: {error or type(error).__name__}"
                self._outcome.failures.append((what, time.monotonic()))
                self._clients.pop(peer.__name__, None)

    def client(self, whose: str) -> Client:
        """The connection of a known peer, reopened if it failed."""
        if whose not in self._clients:
            client = Client(self._ports["server"], timeout_s=ANSWER_S_MAX)
            self._clients[whose] = self.known.enter_context(client)
        return self._clients[whose]

    def _stays(self) -> None:
        client = self.client("_stays")
        registered(client, self._small)
        succeeds(ask_route(client, self._small.topic("T")).code)

    def _sends_parts(self) -> None:
        """A frame of 1.6 MB."""
        names = self._large
        topics = [topic_config(names.topic(f"L{n}")) | {"attributes": {"+a": "x" * 750}} for n in range(1_600)]
        body = register_body(topics)
        ext = register_ext(names.cluster, names.broker, names.addr(2), body=body)
        client, sent = self.client("_sends_parts"), frame(json_header(codes.REGISTER_BROKER, ext, opaque=1), body)
        third = len(sent) // 3
        for part in (sent[:third], sent[third : 2 * third], sent[2 * third :]):
            client.send(part)
            self._over.wait(PAUSE_S)
        succeeds(client.receive().code)

    def _changes(self) -> None:
        """A history of a group, whose state differs each time. Some of its requests are refused."""
        kinds = {kind: weight for kind, weight in REQUESTS.items() if kind not in (switch, kv)}
        for step in steps_of(str(self._outcome.seed), next(self._numbers), self._history, kinds):
            if isinstance(step, Ask):
                client = self.client("_changes")
                client.send(step.frame())
                client.receive_frame()

    def _looks(self) -> None:
        """No stranger makes a table hold a longer name than is stated, or an answer too large to be given."""
        for code in (codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER):
            answer = self.client("_looks").request(code)
            succeeds(answer.code)
            longest = max(map(len, (answer.body or b"").split(b'"')))
            assert longest <= JSON_FACTOR * NAME_BYTES_MAX, f"the answer to {code} has a name of {longest} bytes"
        self._over.wait(1)

    def _asks(self) -> None:
        for door, path in ((MANAGEMENT, "/livez"), (MANAGEMENT, "/metrics"), (ADDRESS, "/rocketmq/nsaddr")):
            body = self._http(self._ports[door], path)
            if path == "/metrics":
                self._outcome.gauges.note(body, time.monotonic())

    @staticmethod
    def _http(port: int, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_S_MAX)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        assert (answer.status, bool(body.strip())) == (200, True), f"{path}: {answer.status}: {body[:200]!r}"
        return body


def succeeds(code: int) -> None:
    assert code == codes.SUCCESS, f"answered with code {code}"


def read(client: Client) -> dict[str, bytes]:
    """The groups, the clusters, the list of topics, and the route of each, by name."""
    client.socket.settimeout(ANSWER_S_MAX)
    listed = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body or b""
    brokers = client.request(codes.GET_BROKER_CLUSTER_INFO).body or b""
    answers = {
        f"{table} {key!r}": dumps(value) for table, entries in loads(brokers).items() for key, value in entries.items()
    }
    answers |= {"106 as a whole": brokers, "206 as a whole": listed}
    for topic in loads(listed)["topicList"][:TOPICS_MAX]:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"})
        answers[f"route of {topic!r}"] = answer.body or b"%d" % answer.code
    return answers


def settled(client: Client) -> dict[str, bytes]:
    """The answers once nothing changes any more: strangers that left are unregistered after the fact."""
    before: dict[str, bytes] = {}

    def is_settled() -> bool:
        nonlocal before
        last, before = before, read(client)
        return last == before

    eventually(is_settled, SETTLES_WITHIN_S, every_s=2)
    return before


def compare_after_a_kill(server: NameServer, outcome: Outcome) -> None:
    """A restart from the journal gives the same answers. The unconfirmed brokers of strangers are not asked then."""
    with server.connect() as client:
        before = settled(client)
    server.kill()
    with server.config_path.open("a", encoding="utf-8") as config:
        config.write("\nrocketns.askUnconfirmed=false\nrocketns.peers=\n")
    server.start()
    with server.connect() as client:
        after = read(client)
    outcome.answers = len(before)
    differing = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    shown = [f"{key[:200]}: {before.get(key, b'')[:300]!r}, then {after.get(key, b'')[:300]!r}" for key in differing]
    if differing:
        text = "\n".join(shown[:DIFFERENCES_SHOWN])
        outcome.failures.append((f"{len(differing)} answers differ after a kill and a restart:\n{text}", 0))


def look_at_the_end(server: NameServer, outcome: Outcome) -> None:
    status = server.stop()
    log = server.process.output.read_text("utf-8", "replace")
    at = log.find("Traceback")
    outcome.failures += [(f"exit status {status}", 0.0)] if status else []
    outcome.failures += [(f"the log has a stack: {log[max(0, at - 500) : at + 2_000]}", 0.0)] if at >= 0 else []


@contextlib.contextmanager
def strangers(plan: Plan) -> Iterator[subprocess.Popen[bytes]]:
    """Their process, once they listen. They begin when they read a line."""
    command = [sys.executable, "-m", "tests.hostile.stranger.playing", json.dumps(asdict(plan))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"listening\n"
            yield process
        finally:
            process.kill()


def properties(home: Path, ports: dict[str, int], opened: dict[str, int]) -> dict[str, object]:
    """All that opens ports or connections is switched on, and memory is bounded more tightly than by default."""
    peers = [f"127.0.0.{host}:{opened['peers']}" for host in (16, 17)]
    return {
        "listenPort": ports["server"], "journalPath": home / "journal", "journalNs": "n1",
        "rocketns.adminPort": ports[MANAGEMENT], "rocketns.addressServer": f"127.0.0.1:{ports[ADDRESS]}",
        "rocketns.peers": ";".join([f"127.0.0.1:{ports['server']}", *peers]),
        "rocketns.seedServers": f"127.0.0.16:{opened['seeds']}", "rocketns.seedSeconds": 3,
        "rocketns.connectionsMax": CONNECTIONS_MAX, "rocketns.routesMax": ROUTES_MAX,
        "rocketns.incomingBytesMax": INCOMING_BYTES_MAX,
        "rocketns.outgoingBytesTotalMax": OUTGOING_BYTES_MAX,
        "rocketns.outgoingBytesMax": OUTGOING_BYTES_MAX, "rocketns.kvBytesMax": KV_BYTES_MAX,
        "rocketns.kvValueBytesMax": KV_BYTES_MAX // 2, "journalBufferBytes": JOURNAL_BUFFER_BYTES,
        "notifyMinBrokerIdChanged": "true", "scanNotActiveBrokerInterval": 1_000,
        "rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": 10, "rocketns.askNetworks": "127.0.0.0/8",
    }  # fmt: skip


def attack(kind: type[NameServer], seed: int, seconds: float, first: int = 0, last: int = STEPS_MAX) -> Outcome:
    """A server under the steps from ``first`` to before ``last``; then what remains."""
    with tempfile.TemporaryDirectory() as folder:
        home, outcome = Path(folder), Outcome(seed)
        ports = {door: free_port() for door in ("server", MANAGEMENT, ADDRESS)}
        opened = {name: free_port() for name in ("brokers", "peers", "seeds")}
        plan = Plan(seed, first, last, seconds, ports, opened, str(home / "steps"))
        with strangers(plan) as process:
            server = kind(home / "ns", properties(home, ports, opened))
            honest = Honest(ports, free_port(), outcome)
            try:
                spare_the_machine(server)
                files_before = open_files(server)
                with honest:
                    process.communicate(b"begin\n", seconds + OVERTIME_S)
                assert process.returncode == 0, f"the strangers ended with {process.returncode}"
                *outcome.steps, outcome.totals = map(json.loads, Path(plan.lines).read_text("utf-8").splitlines())
                log, log_max = server.process.output.stat().st_size, HONEST_BYTES + LOG_BYTES * outcome.totals["frames"]
                outcome.failures += [(f"the log grew by {log} bytes", 0.0)] if log > log_max else []
                eventually(lambda: open_files(server) <= files_before + 20)
                compare_after_a_kill(server, outcome)
                look_at_the_end(server, outcome)
            except AssertionError as error:  # the next seeds are played all the same
                outcome.failures.append((f"what remains: {error}", 0.0))
            finally:
                honest.known.close()
                server.kill()
        return outcome


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
