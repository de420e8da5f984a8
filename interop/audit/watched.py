"""Two Java name servers and two rocketns, with two brokers that know all four.

broker-b reaches j2 and n2 through relays. Both links are cut at the same moment, so both kinds of name server see the
same fault. n1 and n2 write their own journals.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from interop.audit.audited import Audit, Row
from interop.harness import codes
from interop.harness.frames import frames
from interop.harness.payloads import register_body, register_ext
from interop.harness.process import Process
from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet, Listening
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.topics import QUEUES, create_topic
from interop.harness.views import have_registered
from interop.harness.wire import Client, eventually
from tests.behaviour import views

JAVA, OWN = ("j1", "j2"), ("n1", "n2")
NAMES = (*JAVA, *OWN)
# The server of each kind that broker-b is cut off from.
CUT_OFF = ("j2", "n2")
TOPIC = "order_topic"
# Its queues.
A, B = (frozenset(f"{broker}:{q}" for q in range(QUEUES)) for broker in ("broker-a", "broker-b"))
# Instead of 120 s: only a broker of a group that may have an acting master tells its timeout, to Java too.
BROKER_TIMEOUT_S = 15
BROKER = {
    "enableSlaveActingMaster": "true",
    "skipPreOnline": "true",
    "brokerHeartbeatInterval": 1000,
    "brokerNotActiveTimeoutMillis": BROKER_TIMEOUT_S * 1000,
}
SCAN = {"scanNotActiveBrokerInterval": 1000}
JOURNAL = {"journalRotationSeconds": 5, "journalLookupSeconds": 2}
# Changes of a data version tell the audit a clock exactly; heartbeats tell it up to their period only.
VERSIONS = 4
ANSWERS_WITHIN_S = 60.0


@dataclass
class Cluster:
    """The running processes. ``own`` is the folder of the journals of n1 and n2, ``pulse`` is broker-a's way to n1."""

    own: Path
    servers: dict[str, NameServer]
    links: list[Relay]
    pulse: Relay
    brokers: dict[str, Broker]

    def lasts(self, beats: int) -> None:
        """Wait for so many heartbeats of broker-a, which it sends each second."""
        wanted = self._beats() + beats
        eventually(lambda: self._beats() >= wanted, WITHIN_S, every_s=0.2)

    def _beats(self) -> int:
        passed = (one for sent in self.pulse.sent for one in frames(bytes(sent)))
        return sum(one.header["code"] in (codes.BROKER_HEARTBEAT, codes.QUERY_DATA_VERSION) for one in passed)


def now_ms() -> int:
    """The clock that name servers and the test note times by."""
    return time.time_ns() // 1_000_000


def started(fleet: Fleet) -> Cluster:
    """Start everything; each name server then has both brokers."""
    own = fleet.folder("own")
    servers: dict[str, NameServer] = {name: fleet.java(SCAN) for name in JAVA}
    servers |= {name: fleet.name_server(SCAN | JOURNAL | {"journalPath": own, "journalNs": name}) for name in OWN}
    links = {name: fleet.relay(servers[name].port) for name in CUT_OFF}
    pulse = fleet.relay(servers["n1"].port)
    known: dict[str, dict[str, Listening]] = {"broker-a": {**servers, "n1": pulse}, "broker-b": {**servers, **links}}
    brokers = {
        name: fleet.unregistered(name, of.values(), properties=BROKER, topics=[TOPIC]) for name, of in known.items()
    }
    for broker in brokers.values():
        have_registered(broker, *servers.values())
        # Of a process' answers to what the collector asks, the first takes longest.
        eventually(partial(_answers, broker), ANSWERS_WITHIN_S)
    for number in range(VERSIONS):
        create_topic(brokers["broker-a"].port, f"changed_{number}")
    return Cluster(own, servers, list(links.values()), pulse, brokers)


def _answers(broker: Broker) -> bool:
    return broker.stored_bytes() >= 0


INTERVAL_S = 2


@dataclass
class Collector:
    """A running `rocketns collect`; ``journal`` is the folder that it writes."""

    process: Process
    journal: Path

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()

    def has_seen(self, names: Iterable[str], *texts: str, times: int = 1) -> None:
        """Wait until the journal of each of these name servers has so many lines with all of these texts."""

        def seen(name: str) -> bool:
            paths = self.journal.glob(f"v=1/dt=*/ns={name}/*")
            lines = (line for path in paths for line in path.read_text("utf-8").splitlines())
            return sum(all(text in line for text in texts) for line in lines) >= times

        eventually(lambda: all(map(seen, names)), WITHIN_S, every_s=0.2)


def collected(fleet: Fleet, servers: Mapping[str, NameServer]) -> Collector:
    """Watch these name servers under these names; it has read each of them once."""
    home = fleet.folder("collected")
    listed = ",".join(f"{name}=127.0.0.1:{server.port}" for name, server in servers.items())
    command = [sys.executable, "-m", "rocketns", "collect", "--name-servers", listed, "--journal", home / "journal",
               "--interval", f"{INTERVAL_S}s", "--brokers"]  # fmt: skip
    process = Process([*map(str, command)], home / "stdout.log")
    collector = Collector(process, home / "journal")
    collector.has_seen(servers, '"ev":"start"')
    return collector


def copied(home: Path, journals: Path, names: Iterable[str]) -> Path:
    """A folder with the journals of these name servers."""
    for name in names:
        for day in journals.glob(f"v=1/dt=*/ns={name}"):
            shutil.copytree(day, home / day.relative_to(journals))
    return home


ASK_EVERY_S = 0.05

# Broker → permission in the topic's route.
Shown = dict[str, int]


class Change(NamedTuple):
    """A name server answered something else than before: not yet at ``after``, and at ``until`` it did (epoch ms)."""

    after: int
    until: int
    shown: Shown


class Truth:
    """Asks for the route of the topic until ``stop``. The first of a name server's ``changes`` is its beginning."""

    def __init__(self, servers: Mapping[str, NameServer]) -> None:
        self.changes: dict[str, list[Change]] = {name: [] for name in servers}
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=item, daemon=True) for item in servers.items()]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def shown(self, name: str) -> Shown:
        """What a name server answered last; nothing before its first answer."""
        changes = self.changes[name]
        return changes[-1].shown if changes else {}

    def _watch(self, name: str, server: NameServer) -> None:
        with server.connect() as client:
            asked = now_ms()
            while not self._over.wait(ASK_EVERY_S):
                asked = self._look(name, client, asked)

    def _look(self, name: str, client: Client, before: int) -> int:
        """Ask once; returns when it was asked. What was answered held at some moment between question and answer."""
        asked = now_ms()
        # Nobody looks up a topic without brokers: the audit would find a topic that is missing.
        shown = views.perms(client, TOPIC) if views.cluster_info(client)["brokerAddrTable"] else {}
        if not self.changes[name] or self.changes[name][-1].shown != shown:
            self.changes[name].append(Change(before, now_ms(), shown))
        return asked


# The journal's times have a resolution of a millisecond, and so have those of the truth.
RESOLUTION_MS = 2


class Moment(NamedTuple):
    """A change: not yet at ``after``, and at ``until`` it had come (epoch ms)."""

    after: float
    until: float

    def meets(self, other: Moment | Change, apart_ms: float = 0.0) -> bool:
        """Whether both can be the same moment, on clocks that are apart by so much."""
        off = apart_ms + RESOLUTION_MS
        return self.after <= other.until + off and other.after <= self.until + off


class Window(NamedTuple):
    """A stretch in which name servers differed about the topic on a broker. ``values``: the permission that each name
    server showed, None where it had no queue of the broker."""

    broker: str
    values: dict[str, int | None]
    opened: Moment
    closed: Moment
    row: Row


def windows(audit: Audit) -> list[Window]:
    """The windows of the topic that are no doubt, by their beginning."""
    rows = [row for row in audit.rows("key_windows") if row["topic"] == TOPIC and row["doubt"] is None]
    return [
        Window(
            row["broker"],
            {value["ns"]: value["p"] for value in row["values"]},
            moment(row, "t1"),
            moment(row, "t2"),
            row,
        )
        for row in sorted(rows, key=lambda row: int(row["t1"]))
    ]


def moment(row: Row, name: str) -> Moment:
    """A time of a row, with how much earlier it may have been."""
    return Moment((row[name] - row[f"{name}_early"]) / 1000, row[name] / 1000)


def apart_ms(audit: Audit, names: Iterable[str]) -> float:
    """By how much the clocks of these name servers may differ, as the audit says."""
    wanted = set(names)
    days = sorted(audit.rows("clock_days"), key=lambda row: str(row["day"]))
    latest = {row["ns"]: row["uncertainty"] or 0 for row in days}
    return sum(latest[ns] / 1000 for ns in wanted & latest.keys())


def departures(audit: Audit) -> list[Row]:
    """Of the two real brokers, by their time."""
    rows = [row for row in audit.rows("departures") if row["broker"] in {"broker-a", "broker-b"}]
    return sorted(rows, key=lambda row: int(row["t1"]))


def impact(audit: Audit, window: Window) -> Row:
    """The impact of a window by RocketMQ's default strategy, with two consumers in any spread."""
    found = [
        row
        for row in audit.rows("impact")
        if (row["topic"], row["strategy"], row["assignments"], row["c"]) == (TOPIC, "averagely", "model", 2)
        and row["t1"] == window.row["t1"]
    ]
    (only,) = found
    return only


# Long: a busy machine may take ten times as long as a quiet one.
WITHIN_S = 240.0
BOTH, ONLY_A, A_READS = {"broker-a": 6, "broker-b": 6}, {"broker-a": 6}, {"broker-a": 4, "broker-b": 6}
# How long each difference lasts: well above the audit's --min-window of 5 s and the time between two polls.
LASTS_BEATS = 10
# As many as the audit needs to trust what they say of a clock.
REGISTRATIONS = 3
REGISTERED = register_body([])


class Story(NamedTuple):
    """``cut`` is epoch ms. ``changes``: what each name server really showed. ``own`` and ``collected`` are folders of
    journals."""

    cut: int
    changes: dict[str, list[Change]]
    own: Path
    collected: Path

    def change(self, name: str, shown: Shown) -> Change:
        """When a name server first showed exactly this since the cut."""
        return next(one for one in self.changes[name] if one.until > self.cut and one.shown == shown)


def play(home: Path) -> Story:
    """About a minute and a half on a quiet machine."""
    with Fleet(RocketnsServer, home) as fleet:
        cluster = started(fleet)
        truth = Truth(cluster.servers)
        fleet.callback(truth.stop)
        shows(truth, NAMES, BOTH)
        collector = fleet.kills(collected(fleet, cluster.servers))
        brokers_come_and_go(cluster, collector)
        cut = links_are_cut(cluster, truth, collector)
        permission_is_wiped(cluster, truth, collector)
        brokers_leave(cluster, truth, collector)
        truth.stop()
        # A journal ends when the last request was sent, so what its answer showed comes after the end: the departures
        # count if there is one more answer.
        with ExitStack() as connections:
            comes(cluster, collector, connections, REGISTRATIONS)
        assert collector.stop() == 0, collector.process.text()
        for server in cluster.servers.values():
            server.stop()
        return Story(cut, truth.changes, cluster.own, collector.journal)


def brokers_come_and_go(cluster: Cluster, collector: Collector) -> None:
    """Some brokers register everywhere: the audit compares the collector's clock by what both kinds of journal show."""
    with ExitStack() as connections:
        for number in range(REGISTRATIONS):
            comes(cluster, collector, connections, number)


def comes(cluster: Cluster, collector: Collector, connections: ExitStack, number: int) -> None:
    """A broker registers at all name servers, and the collector sees it at each."""
    fields = register_ext(broker=f"short-{number}", addr=f"10.0.0.{number}:10911", body=REGISTERED)
    for server in cluster.servers.values():
        client = connections.enter_context(server.connect())
        assert client.request(codes.REGISTER_BROKER, fields, REGISTERED).code == codes.SUCCESS
    collector.has_seen(NAMES, '"ev":"reg"', f'"short-{number}"')


def links_are_cut(cluster: Cluster, truth: Truth, collector: Collector) -> int:
    """Returns when the links were cut; at the end every name server has both brokers again."""
    cut = now_ms()
    for link in cluster.links:
        link.cut()
    shows(truth, CUT_OFF, ONLY_A)
    collector.has_seen(CUT_OFF, '"ev":"tdel"', '"broker-b"', f'"{TOPIC}"')
    cluster.lasts(LASTS_BEATS)
    for link in cluster.links:
        link.heal()
    shows(truth, CUT_OFF, BOTH)
    collector.has_seen(CUT_OFF, '"ev":"tput"', '"broker-b"', f'"{TOPIC}"')
    cluster.lasts(LASTS_BEATS)
    return cut


def permission_is_wiped(cluster: Cluster, truth: Truth, collector: Collector) -> None:
    """broker-a may not be written to at j2 and n2 for a while (mqadmin wipeWritePerm, addWritePerm)."""
    for code, shown, times in (
        (codes.WIPE_WRITE_PERM_OF_BROKER, A_READS, 1),
        (codes.ADD_WRITE_PERM_OF_BROKER, BOTH, 2),
    ):
        for name in CUT_OFF:
            with cluster.servers[name].connect() as client:
                assert client.request(code, {"brokerName": "broker-a"}).code == codes.SUCCESS
        shows(truth, CUT_OFF, shown)
        collector.has_seen(CUT_OFF, '"ev":"tput"', '"broker-a"', f'"{TOPIC}"', times=times)
        cluster.lasts(LASTS_BEATS)


def brokers_leave(cluster: Cluster, truth: Truth, collector: Collector) -> None:
    """broker-b stops in good order, then broker-a is killed."""
    cluster.brokers["broker-b"].ask_to_stop()
    shows(truth, NAMES, ONLY_A)
    for name in NAMES:
        collector.has_seen([name], '"ev":"down"', '"broker-b"', times=2 if name in CUT_OFF else 1)
    cluster.lasts(LASTS_BEATS)
    cluster.brokers["broker-a"].kill()
    shows(truth, NAMES, {})
    collector.has_seen(NAMES, '"ev":"down"', '"broker-a"')


def shows(truth: Truth, names: Iterable[str], shown: Shown) -> None:
    """Wait until each of the name servers shows exactly this."""
    wanted = tuple(names)
    eventually(lambda: all(truth.shown(name) == shown for name in wanted), WITHIN_S)
