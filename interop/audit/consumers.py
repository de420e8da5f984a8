"""Three rocketns with journals, two real brokers, a producer and two consumers of one group; one connection can be cut.

c1 queries n1, and c2 queries n2. Only broker-b reaches n2 through a relay, so a cut there removes broker-b from c2's
view alone. c1 and c2 have addresses of their own, in their client ids and towards the name servers, as on two hosts.
The clients and the audit both order them by these addresses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from interop.audit.audited import Audit, Row, audited
from interop.harness.relay import Relay
from interop.harness.sending.clients import TELLS_QUEUES, JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.topics import QUEUES, create_topic
from interop.harness.views import brokers, have_registered
from interop.harness.wire import eventually

NAME_SERVERS = ("n1", "n2", "n3")
TOPIC, GROUP = "order_topic", "order_group"
A, B = (frozenset(f"{broker}:{q}" for q in range(QUEUES)) for broker in ("broker-a", "broker-b"))
ADDRESSES = {"c1": "127.0.0.11", "c2": "127.0.0.12"}
ASKS = {"c1": "n1", "c2": "n2"}
PAUSE_MS = 20
# Heartbeats alone tell a clock up to their period only. This many changes of a data version tell it exactly.
VERSIONS = 4

# Shorter than the defaults of 120 s, 30 s and 120 s, so that the test takes two minutes.
BROKER_TIMEOUT_S, CLIENT_HEARTBEAT_S, MEMBER_TIMEOUT_S = 15, 1, 20
BROKER = {
    # Only a broker of a group that may have an acting master tells the name server its timeout.
    "enableSlaveActingMaster": "true",
    "skipPreOnline": "true",
    "brokerHeartbeatInterval": 1000,
    "brokerNotActiveTimeoutMillis": BROKER_TIMEOUT_S * 1000,
    "channelExpiredTimeout": MEMBER_TIMEOUT_S * 1000,
}
NAME_SERVER = {
    "scanNotActiveBrokerInterval": 1000,
    "journalRotationSeconds": 5,
    "journalLookupSeconds": 2,
    "journalLookupClients": "true",
}


@dataclass
class Deployment:
    """The running processes. ``servers`` are n1, n2, n3; ``between`` is the relay between broker-b and n2."""

    journal: Path
    servers: list[NameServer]
    between: Relay
    consumers: dict[str, JavaClient]
    producer: JavaClient


def started(fleet: Fleet) -> Deployment:
    """Start everything."""
    journal = fleet.folder("journal")
    servers = [fleet.name_server(NAME_SERVER | {"journalPath": journal, "journalNs": ns}) for ns in NAME_SERVERS]
    between = fleet.relay(servers[1].port)
    broker_a = fleet.broker("broker-a", *servers, properties=BROKER, topics=[TOPIC])
    relayed = [servers[0], between, servers[2]]
    have_registered(fleet.unregistered("broker-b", relayed, properties=BROKER, topics=[TOPIC]), *servers)
    for number in range(VERSIONS):
        create_topic(broker_a.port, f"changed_{number}")
    by_name = dict(zip(NAME_SERVERS, servers, strict=True))
    consumers = {name: _consumer(fleet, ADDRESSES[name], by_name[ns]) for name, ns in ASKS.items()}
    producer = fleet.producer([servers[2]], TOPIC, 1_000_000, pause_ms=PAUSE_MS, options=TELLS_QUEUES)
    return Deployment(journal, servers, between, consumers, producer)


def now_ms() -> int:
    """The clock that clients, name servers and the test print their times by."""
    return time.time_ns() // 1_000_000


def _consumer(fleet: Fleet, address: str, server: NameServer) -> JavaClient:
    relay, options = fleet.relay(server.port, address), (f"-Dinterop.clientIP={address}",)
    return fleet.consumer([relay], TOPIC, GROUP, main="QueueConsumer", options=options)


Queues = frozenset[str]


class Message(NamedTuple):
    """A message that was sent to a queue, or that a consumer got from it."""

    ms: int
    queue: str
    text: str


class Holding(NamedTuple):
    """A consumer had these queues from ``ms`` on."""

    ms: int
    queues: Queues


class Stretch(NamedTuple):
    """[t1, t2), in which each consumer had the same queues all the time."""

    t1: int
    t2: int
    has: Mapping[str, Queues]

    def orphaned(self, queues: Queues) -> Queues:
        """The queues that no consumer had."""
        return queues.difference(*self.has.values())

    def dup(self, queues: Queues) -> Queues:
        """The queues that two or more consumers had."""
        return frozenset(q for q in queues if sum(q in has for has in self.has.values()) > 1)


def messages(client: JavaClient, word: str) -> list[Message]:
    """Of lines: GOT or SENT, time, queue, text."""
    parts = (line.split(" ") for line in client.values(word))
    return [Message(int(ms), queue, text) for ms, queue, text in parts]


def holdings(client: JavaClient) -> list[Holding]:
    """Of lines: HAS, time, queues."""
    parts = (line.split() for line in client.values("HAS"))
    return [Holding(int(ms), frozenset(queues)) for ms, *queues in parts]


def has(client: JavaClient) -> Queues:
    """The queues of a consumer by its last line."""
    found = holdings(client)
    return found[-1].queues if found else frozenset()


def stretches(of: Mapping[str, Sequence[Holding]], t1: int, t2: int) -> Iterator[Stretch]:
    """[t1, t2) cut wherever a consumer's queues change."""
    cuts = sorted({t1, t2, *(held.ms for history in of.values() for held in history if t1 < held.ms < t2)})
    for start, end in pairwise(cuts):
        yield Stretch(start, end, {name: _at(history, start) for name, history in of.items()})


def orphaned_seconds(parts: Sequence[Stretch], queues: Queues) -> float:
    """Queue-seconds without a consumer."""
    return sum(len(part.orphaned(queues)) * (part.t2 - part.t1) for part in parts) / 1000


def dup_seconds(parts: Sequence[Stretch], queues: Queues) -> float:
    """Queue-seconds with two consumers or more."""
    return sum(len(part.dup(queues)) * (part.t2 - part.t1) for part in parts) / 1000


def _at(history: Sequence[Holding], ms: int) -> Queues:
    return next((held.queues for held in reversed(history) if held.ms <= ms), frozenset())


# Long time-outs: a busy machine may take ten times as long as a quiet one.
WITHIN_S = 240.0
# The worked example of the model: c1 sees both brokers, and c2 sees only broker-a.
SHARED = frozenset({"broker-a:2", "broker-a:3"})
TURNS = 2
MESSAGES_OF_QUEUE = 5


class Story(NamedTuple):
    """Times are epoch ms. ``shown``: the name servers that had broker-b during the cut. ``held`` and ``got`` are by
    consumer, ``held`` until ``ended``."""

    cut: int
    gone: int
    shown: dict[str, bool]
    healed: int
    back: int
    ended: int
    held: dict[str, list[Holding]]
    got: dict[str, list[Message]]
    sent: list[Message]
    failed: list[str]
    audit: Audit

    def first(self, name: str, queues: Queues) -> int:
        """When a consumer first had exactly these queues since the cut."""
        return next(held.ms for held in self.held[name] if held.ms > self.cut and held.queues == queues)


def play(home: Path) -> Story:
    """About a minute and a half on a quiet machine, of which the audit takes a third."""
    with Fleet(RocketnsServer, home) as fleet:
        deployment = started(fleet)
        wait_for_spread(deployment, A, B)
        wait_for_messages(deployment)
        cut = now_ms()
        deployment.between.cut()
        gone = wait_for_brokers(deployment.servers[1], {"broker-a"})
        wait_for_spread(deployment, A, SHARED)
        wait_for_turns(deployment)
        shown = {ns: "broker-b" in brokers(server) for ns, server in zip(NAME_SERVERS, deployment.servers, strict=True)}
        healed = now_ms()
        deployment.between.heal()
        back = wait_for_brokers(deployment.servers[1], {"broker-a", "broker-b"})
        wait_for_spread(deployment, A, B)
        sent, failed = end_of_sending(deployment)
        ended = now_ms()
        held = {name: holdings(consumer) for name, consumer in deployment.consumers.items()}
        got = {name: messages(consumer, "GOT") for name, consumer in deployment.consumers.items()}
        for server in deployment.servers:  # before the brokers, so that no client fails
            assert server.stop() == 0
    (found,) = audited((deployment.journal, home / "audit"))
    return Story(cut, gone, shown, healed, back, ended, held, got, sent, failed, found)


def wait_for_spread(deployment: Deployment, c1: Queues, c2: Queues) -> None:
    """Wait until each consumer has exactly these queues."""
    eventually(lambda: [has(one) for one in deployment.consumers.values()] == [c1, c2], WITHIN_S, every_s=0.1)


def wait_for_messages(deployment: Deployment) -> None:
    """Wait until some more messages of each queue were consumed."""
    since = now_ms()

    def enough() -> bool:
        got = [m.queue for one in deployment.consumers.values() for m in messages(one, "GOT") if m.ms > since]
        return all(got.count(queue) >= MESSAGES_OF_QUEUE for queue in A | B)

    eventually(enough, WITHIN_S, every_s=0.2)


def wait_for_brokers(server: NameServer, names: set[str]) -> int:
    """Wait until the name server has exactly these brokers; returns when. No lookup is sent, as lookups are counted."""
    eventually(lambda: set(brokers(server)) == names, WITHIN_S, every_s=0.1)
    return now_ms()


def wait_for_turns(deployment: Deployment) -> None:
    """Until c1 took all queues and gave broker-b's back, more than once, and c2 has the messages that it shares."""
    since = now_ms()

    def turned() -> bool:
        taken = [held.queues for held in holdings(deployment.consumers["c1"]) if held.ms > since]
        return taken.count(A | B) >= TURNS and taken.count(A) >= TURNS

    eventually(turned, WITHIN_S, every_s=0.1)
    sent = {m.text for m in messages(deployment.producer, "SENT") if m.queue in SHARED} - before(deployment)
    eventually(lambda: sent <= {m.text for m in messages(deployment.consumers["c2"], "GOT")}, WITHIN_S, every_s=0.2)


def before(deployment: Deployment) -> set[str]:
    """The messages that c1 got before c2 had c1's queues too."""
    shared = next(held.ms for held in holdings(deployment.consumers["c2"]) if held.queues == SHARED)
    return {m.text for m in messages(deployment.consumers["c1"], "GOT") if m.ms < shared}


def end_of_sending(deployment: Deployment) -> tuple[list[Message], list[str]]:
    """Stop the producer, and wait until all messages are consumed; returns the messages sent, and the failed ones."""
    deployment.producer.stop()
    assert deployment.producer.values("DONE"), "the producer ended in good order"
    sent = messages(deployment.producer, "SENT")
    texts = {message.text for message in sent}

    def consumed() -> bool:
        return texts <= {m.text for one in deployment.consumers.values() for m in messages(one, "GOT")}

    eventually(consumed, WITHIN_S, every_s=0.2)
    return sent, deployment.producer.values("FAILED")


ALL = A | B


class Compared:
    """The figures of a story and of its audit, side by side. Times are epoch ms."""

    def __init__(self, story: Story) -> None:
        self.story = story
        rows = story.audit.rows
        windows = [r for r in rows("key_windows") if r["topic"] == TOPIC and r["cause"] == "expired"]
        self.window = windows[0]
        self.opened, self.closed = self.window["t1"] // 1000, self.window["t2"] // 1000
        of_window = [r for r in rows("impact") if r["topic"] == TOPIC and r["t1"] == self.window["t1"]]
        self.impact = {r["assignments"]: r for r in of_window if r["strategy"] == "averagely"}
        self.members = [r for r in rows("group_members") if r["topic"] == TOPIC]
        self.departures = [r for r in rows("departures") if r["broker"] == "broker-b"]
        self.switched = story.first("c2", SHARED)
        self.forgotten = story.first("c1", ALL)

    @property
    def real(self) -> Row:
        """The impact by the members that lookups showed."""
        return self.impact["real"]

    def parts(self, t1: int, t2: int) -> list[Stretch]:
        return list(stretches(self.story.held, t1, t2))

    def lasting(self) -> tuple[Queues, Queues]:
        """The orphaned and the dup of the longest stretch between c2's change of route and broker-b's forgetting it."""
        longest = max(self.parts(self.switched, self.forgotten), key=lambda part: part.t2 - part.t1)
        return longest.orphaned(ALL), longest.dup(ALL)

    def until_forgotten(self) -> float:
        """Seconds from c2's change of route until c1 found itself alone at broker-b."""
        return (self.forgotten - self.switched) / 1000
