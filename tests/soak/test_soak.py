"""Reactors, control and every kind of peer at once: every answer shows a state that existed.

ROCKETNS_SOAK_S is how long it lasts, in seconds.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.reactors.lookup_counts import drain_lookups
from tests.fast.lookups import CLIENTS, look_up
from tests.hostile.test_garbage import damaged, random_frames
from tests.support.live import LiveServer
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsPeer

GENERATION_MAX = 100_000
ELEMENT = re.compile(rb'"brokerName":"([^"]*)","perm":\d,"readQueueNums":(\d+),"topicSysFlag":0,"writeQueueNums":(\d+)')
GROUP = re.compile(rb'"brokerAddrs":\{"?0"?:"10\.0\.(\d+)\.1:1"\},"brokerName":"([^"]*)"')
Act = Callable[[], object]


class Fault(AssertionError):
    """A violated rule, with the answer that showed it."""


def read_route(answer: bytes) -> dict[str, int]:
    """Broker → generation of its queues; each broker with its own address and whole numbers, or it is a `Fault`."""
    elements = {name.decode(): (int(read), int(write)) for name, read, write in ELEMENT.findall(answer)}
    groups = {name.decode(): host.decode() for host, name in GROUP.findall(answer)}
    if elements.keys() != groups.keys() or any(name != f"b{host}" for name, host in groups.items()):
        raise Fault(f"queues and addresses of different brokers: {answer!r}")
    torn = [name for name, (read, write) in elements.items() if read != write]
    if torn or (b'"code":0' in answer) != bool(elements):
        raise Fault(f"a torn answer: {answer!r}")
    return {name: read for name, (read, _) in elements.items()}


class Broker:
    """Registers again and again with other queues, and checks over every connection that they show."""

    def __init__(self, server: LiveServer, number: int, topics: list[str], readers: int) -> None:
        self.name, self.addr, self.topics = f"b{number}", f"10.0.{number}.1:1", topics
        self.connection = server.connect()
        self.readers = [server.connect() for _ in range(readers)]
        self.generations = itertools.cycle(range(1, GENERATION_MAX))

    def act(self) -> None:
        generation = next(self.generations)
        configs = [topic_config(topic, generation, generation) for topic in self.topics]
        body = register_body(configs, data_version(generation))
        ext = register_ext(broker=self.name, addr=self.addr, body=body)
        code = self.connection.request(103, ext, body).code
        if code:
            raise Fault(f"the registration of {self.name} was answered with code {code}")
        for reader, topic in zip(self.readers, itertools.cycle(self.topics), strict=False):
            reader.send(look_up(CLIENTS[generation % len(CLIENTS)], topic, generation))
        for reader in self.readers:
            shown = read_route(reader.receive_frame())
            if shown.get(self.name) != generation:
                raise Fault(f"{self.name} registered generation {generation} and reads {shown}")


class Visitor:
    """Registers, leaves in one of several ways, and registers again. Only its ``own`` topics are ever deleted."""

    def __init__(self, server: LiveServer, number: int, topics: list[str], own: list[str]) -> None:
        self.server, self.number, self.topics, self.own = server, number, topics, own
        self.chance = random.Random(number)

    def act(self) -> None:
        name, addr = f"b{self.number}", f"10.0.{self.number}.1:1"
        body = register_body([topic_config(topic, 3, 3) for topic in self.topics])
        ext = register_ext(broker=name, addr=addr, body=body, heartbeatTimeoutMillis=1)
        # A scan closes the connections of all overdue brokers.
        with self.server.connect() as client, contextlib.suppress(ConnectionError):
            client.request(103, ext, body)
            match self.chance.randrange(4):
                case 0:
                    who = {"clusterName": "C1", "brokerName": name, "brokerAddr": addr, "brokerId": "0"}
                    client.request(104, who)
                case 1:
                    time.sleep(0.003)
                    self.server.call(self.server.controller.core.expiry.scan)
                case 2:
                    client.request(216, {"topic": self.chance.choice(self.own)})
                    client.request(self.chance.choice([205, 327]), {"brokerName": name})
                case _:
                    pass  # closes, and is unregistered for it


class Reader:
    """Asks for several topics at a time. A broker's queues never go back to an earlier generation."""

    def __init__(self, server: LiveServer, topics: list[str], steady: set[str], seed: int) -> None:
        self.client, self.topics, self.steady = server.connect(), topics, steady
        self.seen: Counter[tuple[str, str]] = Counter()
        self.chance = random.Random(seed)
        self.answers = 0

    def act(self) -> None:
        asked = [self.chance.choice(self.topics) for _ in range(self.chance.choice([1, 1, 4, 40]))]
        frames = [look_up(self.chance.choice(CLIENTS), topic, place) for place, topic in enumerate(asked)]
        self.client.send(b"".join(frames))
        for topic in asked:
            route = read_route(self.client.receive_frame())
            for name in self.steady & route.keys():
                if route[name] < self.seen[topic, name]:
                    raise Fault(f"{topic} on {name} went back from {self.seen[topic, name]} to {route[name]}")
                self.seen[topic, name] = route[name]
        self.answers += len(asked)


class Auditor:
    """Takes the reactors' counts of lookups while they grow, as the journal does."""

    def __init__(self, server: LiveServer) -> None:
        self.server, self.counted = server, 0

    def act(self) -> None:
        reactors = self.server.controller.reactors
        assert reactors is not None
        rows, rest = self.server.call(lambda: drain_lookups(reactors))
        self.counted += sum(row[4] for row in [*rows, rest])
        time.sleep(0.02)

    def has_all(self) -> bool:
        """Check that every lookup was counted once, now that no more come."""
        self.act()
        return self.counted == self.server.answered_by_reactors()


class Mover:
    """Moves connections between the two reactors and changes how many get new ones, whatever their load is."""

    def __init__(self, server: LiveServer, seed: int) -> None:
        self.server, self.chance = server, random.Random(seed)

    def act(self) -> None:
        self.server.call(self.move)
        time.sleep(0.002)

    def move(self) -> None:
        reactors = self.server.controller.reactors
        assert reactors is not None
        source = self.chance.randrange(2)
        reactors.deal_to(self.chance.choice([1, 2]))
        reactors.give(source, 1 - source, self.chance.choice([200, 1000]), self.chance.choice([0, 10]))


class Passer:
    """Connections that come and go: behind a PROXY header, with TLS, cut off, reset, or with nonsense."""

    def __init__(self, server: LiveServer, topics: list[str], seed: int) -> None:
        self.server, self.topics = server, topics
        self.chance = random.Random(seed)
        self.nonsense = self._nonsense(seed)

    def _nonsense(self, seed: int) -> Iterator[bytes]:
        for number in itertools.count(seed):
            yield from damaged(number, random_frames(number, 50))

    def act(self) -> None:
        with self.server.connect() as client, contextlib.suppress(ConnectionError):
            self.chance.choice([self.proxy, self.tls, self.cut, self.reset, self.garbage, self.crowd])(client)

    def proxy(self, client: Client) -> None:
        topic = self.chance.choice(self.topics)
        header = v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)
        stream = header + look_up(CLIENTS[0], topic, 1) + frame(json_header(206, opaque=2)) + look_up(CLIENTS[0], topic)
        at = self.chance.randrange(len(stream))
        client.send(stream[:at])
        client.send(stream[at:])
        for _ in range(3):
            client.receive_frame()

    def tls(self, client: Client) -> None:
        client.send(TlsPeer().shake_hands())
        if self.chance.randrange(2):
            client.socket.recv(1 << 16)

    def cut(self, client: Client) -> None:
        whole = look_up(CLIENTS[0], self.chance.choice(self.topics))
        client.send(whole[: self.chance.randrange(1, len(whole))])

    def reset(self, client: Client) -> None:
        client.send(look_up(CLIENTS[0], self.chance.choice(self.topics)) * 20)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def garbage(self, client: Client) -> None:
        for _ in range(20):
            client.send(next(self.nonsense))

    def crowd(self, client: Client) -> None:
        """Requests that control must answer, more than it processes in one turn."""
        count = self.chance.choice([10, 300])
        client.send(frame(json_header(206, opaque=5)) * count + look_up(CLIENTS[0], self.chance.choice(self.topics)))
        for _ in range(self.chance.choice([0, count + 1])):
            client.receive_frame()


def at_once(acts: list[Act], for_s: float) -> tuple[Counter[str], list[BaseException]]:
    """Call each on a thread of its own until time is up or one of them fails: how often each did, and what failed."""
    counts: Counter[str] = Counter()
    faults: list[BaseException] = []
    ends = time.monotonic() + for_s

    def repeat(act: Act) -> None:
        name = type(getattr(act, "__self__", act)).__name__
        while not faults and time.monotonic() < ends:
            try:
                act()
            except BaseException as error:  # raised by the thread that waits for this one
                faults.append(error)
            counts[name] += 1

    threads = [threading.Thread(target=repeat, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, faults


SOAK_S = float(os.environ.get("ROCKETNS_SOAK_S", "6"))
ROUNDS = 2
TOPICS = [f"soak{number}" for number in range(8)]
STEADY, VISITED, DELETED = TOPICS[:5], TOPICS[3:], TOPICS[5:]
READERS = 4


def counting(journal: Path) -> dict[str, object]:
    """Properties with which lookups are counted, by client too; the interval ends when the test takes them."""
    return {"journalPath": journal, "journalLookupClients": "true", "journalLookupSeconds": 86_400}


@pytest.mark.slow
@pytest.mark.timeout(SOAK_S * 4 + 600)
def test_every_answer_is_true_while_everything_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers read what they wrote, over every reactor; no answer is torn or goes back; each is
    counted once; connections move between reactors all the time; servers stop and start."""
    total = 0
    for number in range(ROUNDS):
        with LiveServer(tmp_path / str(number), **counting(tmp_path / f"journal{number}")) as server:
            brokers = [Broker(server, host, STEADY, READERS) for host in (1, 2)]
            for broker in brokers:
                broker.act()
            steady = {broker.name for broker in brokers}
            readers = [Reader(server, TOPICS, steady, seed) for seed in (1, 2)]
            visitors = [Visitor(server, host, VISITED, DELETED) for host in (11, 12)]
            passers = [Passer(server, STEADY, seed) for seed in (1, 2)]
            auditor = Auditor(server)
            actors = [*brokers, *readers, *visitors, *passers, Mover(server, number), auditor]
            counts, faults = at_once([one.act for one in actors], SOAK_S / ROUNDS)
            if faults:
                raise faults[0]
            eventually(auditor.has_all)
            answered = server.answered_by_reactors()
        assert answered > sum(reader.answers for reader in readers) / 2
        total += answered
        with capsys.disabled():
            print(f"\nsoak round {number + 1}: {answered} lookups answered by reactors; {dict(counts)}", end="")
    assert total


def connected(server: LiveServer) -> list[Client]:
    """Connections that a reactor has read from."""
    clients = [server.connect() for _ in range(READERS)]
    for client in clients:
        client.send(look_up(CLIENTS[0], "T"))
        client.receive_frame()
    return clients


def test_lookups_are_answered_while_control_does_nothing(tmp_path: Path) -> None:
    """Over old and new connections, for present and absent topics. Requests for control are answered afterwards."""
    with LiveServer(tmp_path) as server, server.connect() as broker:
        body = register_body([topic_config("T"), topic_config("U")])
        broker.request(103, register_ext(body=body), body)
        expected = {topic: server.reference(look_up(CLIENTS[0], topic)) for topic in ("T", "nobody's")}
        clients = connected(server)
        with server.held_still():
            broker.send(frame(json_header(206, opaque=1)))
            for client in [*clients, server.connect(), server.connect()]:
                for topic in 10 * ["T", "nobody's"]:
                    client.send(look_up(CLIENTS[0], topic))
                    assert client.receive_frame() == expected[topic]
            assert broker.stays_silent()
        assert broker.receive().opaque == 1
