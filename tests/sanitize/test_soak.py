"""Reactors, control and every kind of peer at once: every answer shows a state that existed.

ROCKETNS_SOAK_S is how long it lasts, in seconds. What the other peers do is drawn by `tests.support.histories`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.fast.lookups import CLIENTS, look_up
from tests.support.histories import WHOLE, WILD, Ask, Close, Pass, damaged, restart, steps_of
from tests.support.live import LiveServer
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsPeer

GENERATION_MAX = 100_000
ELEMENT = re.compile(rb'"brokerName":"([^"]*)","perm":\d,"readQueueNums":(\d+),"topicSysFlag":0,"writeQueueNums":(\d+)')
GROUP = re.compile(rb'"brokerAddrs":\{"?0"?:"10\.0\.(\d+)\.1:1"\},"brokerName":"([^"]*)"')
SOAK_S = float(os.environ.get("ROCKETNS_SOAK_S", "6"))
TOPICS = [f"soak{number}" for number in range(5)]
READERS = 4
# They never name what the brokers registered.
PEERS = replace(WILD, odd=0.3, timeouts=("1", "120000"))
KINDS = {kind: weight for kind, weight in WHOLE.items() if kind is not restart}


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
    """Registers again and again with other queues, and checks over every connection that they show.

    The queues of the other broker never go back to an earlier generation.
    """

    def __init__(self, server: LiveServer, number: int) -> None:
        self.name, self.addr = f"b{number}", f"10.0.{number}.1:1"
        self.connection = server.connect()
        self.readers = [server.connect() for _ in range(READERS)]
        self.generations = itertools.cycle(range(1, GENERATION_MAX))
        self.seen: dict[tuple[str, str], int] = {}

    def act(self) -> None:
        generation = next(self.generations)
        configs = [topic_config(topic, generation, generation) for topic in TOPICS]
        body = register_body(configs, data_version(generation))
        code = self.connection.request(103, register_ext(broker=self.name, addr=self.addr, body=body), body).code
        if code:
            raise Fault(f"the registration of {self.name} was answered with code {code}")
        for reader, topic in zip(self.readers, TOPICS, strict=False):
            reader.send(look_up(CLIENTS[generation % len(CLIENTS)], topic, generation))
        for reader, topic in zip(self.readers, TOPICS, strict=False):
            shown = read_route(reader.receive_frame())
            if shown.get(self.name) != generation:
                raise Fault(f"{self.name} registered generation {generation} and reads {shown}")
            for name, number in shown.items():
                if number < self.seen.get((topic, name), 0):
                    raise Fault(f"{topic} on {name} went back from {self.seen[topic, name]} to {number}")
                self.seen[topic, name] = number


class Peers:
    """Plays a history on a few connections. Some frames are damaged, cut, behind a PROXY header, or TLS."""

    def __init__(self, server: LiveServer, seed: str) -> None:
        self.server, self.seed, self.chance = server, seed, random.Random(seed)
        self.numbers = itertools.count()
        self.clients: dict[int, Client] = {}

    def act(self) -> None:
        for step in steps_of(self.seed, next(self.numbers), PEERS, KINDS):
            if isinstance(step, Pass):
                self.server.call(self.server.controller.core.expiry.scan)
            elif isinstance(step, Ask | Close):
                client = self.clients.pop(step.connection, None) or self.server.connect()
                with contextlib.suppress(ConnectionError):
                    if isinstance(step, Ask) and self._sent(client, step.frame()):
                        self.clients[step.connection] = client
                        continue
                client.close()

    def _sent(self, client: Client, data: bytes) -> bool:
        """Whether the connection is of further use."""
        kind = self.chance.randrange(20)
        if kind == 0:
            client.send(damaged(self.chance, data))
        elif kind == 1:
            client.send(data[: self.chance.randrange(len(data))])
        elif kind == 2:
            client.send(TlsPeer().shake_hands())
        elif kind == 3:
            client.send(data * self.chance.choice((20, 300)))
        elif kind == 4:
            with self.server.connect() as other:
                other.send(v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443) + data)
                other.receive_frame()
        else:
            client.send(look_up(self.chance.choice(CLIENTS), self.chance.choice(TOPICS)) + data)
            read_route(client.receive_frame())
            client.receive_frame()
        return kind > 3


class Reader:
    """Reads what reactors count and note, while they do."""

    def __init__(self, server: LiveServer) -> None:
        self.server = server

    def act(self) -> None:
        self.server.call(self.read)
        time.sleep(0.002)

    def read(self) -> None:
        reactors = self.server.controller.reactors
        reactors.drain_lookups()
        reactors.drain_missing()


def at_once(acts: list[Callable[[], None]], for_s: float) -> None:
    """Call each on a thread of its own until time is up or one of them fails. Raises what failed."""
    faults: list[BaseException] = []
    ends = time.monotonic() + for_s

    def repeat(act: Callable[[], None]) -> None:
        while not faults and time.monotonic() < ends:
            try:
                act()
            except BaseException as error:  # raised by the thread that waits for this one
                faults.append(error)

    threads = [threading.Thread(target=repeat, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


@pytest.mark.slow
@pytest.mark.timeout(SOAK_S * 4 + 600)
def test_every_answer_is_true_while_everything_changes(tmp_path: Path) -> None:
    """Brokers read what they wrote, over every reactor; no answer is torn or goes back; servers stop and start."""
    counting: dict[str, Any] = {"journalLookupClients": "true", "journalLookupSeconds": 86_400}
    for number in range(2):
        with LiveServer(tmp_path / str(number), journalPath=tmp_path / f"journal{number}", **counting) as server:
            brokers = [Broker(server, host) for host in (1, 2)]
            for broker in brokers:
                broker.act()
            others = [Peers(server, f"{number}/{seed}") for seed in range(4)]
            acts = [*(one.act for one in brokers), *(one.act for one in others), Reader(server).act]
            at_once(acts, SOAK_S / 2)
            assert server.answered_by_reactors()
