"""A broker as its name servers see it: RocketMQ 4.9's and 5.5's, plain or with acting masters.

What it does, and when, is measured on real brokers: a registration at the start of the process, after 10 s, and every
30 s; a search for lost connections every 3 s (5.x only); one question about its data version each second where it knows
acting masters; a request without an answer closes its connection after 24 s; a graceful stop says so and waits for 3 s.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from tests.simulation.nameserver import NameServer
from tests.simulation.network import Network, Socket
from tests.simulation.peers import Answer, Channel, Remote, Then
from tests.simulation.world import START_EPOCH_MS, Process, World

SECOND_US = 1_000_000
PERIOD_US = 30 * SECOND_US
SECOND_REGISTRATION_US = 10 * SECOND_US
SEARCH_US = 3 * SECOND_US
QUESTION_US = SECOND_US
REGISTER_WITHIN_US = 24 * SECOND_US
LEAVE_WITHIN_US = 3 * SECOND_US
ACTING_TIMEOUT_MS = 10_000
PLAIN_TIMEOUT_MS = 120_000

Queues = tuple[int, int, int]


@dataclass(frozen=True)
class Kind:
    """``searches`` for lost connections by itself; ``asks_first`` whether its data version is known (forceRegister)."""

    name: str
    version: int
    searches: bool
    acting: bool = False
    asks_first: bool = False

    @property
    def timeout_ms(self) -> int:
        return ACTING_TIMEOUT_MS if self.acting else PLAIN_TIMEOUT_MS


PLAIN = Kind("5.5", 513, searches=True)
OLD = Kind("4.9", 407, searches=False)
ACTING = Kind("5.5 acting", 513, searches=True, acting=True)
ASKING = Kind("5.5 asking", 513, searches=True, asks_first=True)


class Ended(NamedTuple):
    """An ended process of a broker. ``is_silent``: its connections were not closed, and its host is down."""

    started_us: int
    ended_us: int
    is_silent: bool


@dataclass
class Said:
    """A registration: when it was sent and answered, and what it named. ``is_waiting``: it may be answered yet."""

    sent_us: int
    version: int
    topics: dict[str, Queues]
    answered_us: int | None = None
    is_waiting: bool = True


@dataclass
class Standing:
    """What a broker sent to one name server. ``accepted`` is the last answered registration."""

    sent: list[Said] = field(default_factory=list)
    accepted: Said | None = None


class BrokerProcess(Process):
    """One run of a broker."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker.world, broker.label)
        self.remotes = [
            Remote(self, broker.network, broker.host, server, broker.kind.version) for server in broker.servers
        ]
        self.visitors: list[Socket] = []
        self.is_leaving = False


@dataclass
class Group:
    """What the members of a broker group share and keep on disk: the topics and their version."""

    name: str
    topics: dict[str, Queues]
    counter: int = 1
    zone: str | None = None
    static: tuple[str, ...] = ()

    def mappings(self) -> dict[str, object]:
        """Of its static topics; each epoch moves a queue."""
        return {
            name: {"bname": self.name, "currIdMap": {"0": self.counter % 4}, "dirty": False, "epoch": self.counter,
                   "scope": "__global__", "topic": name, "totalQueues": 4}
            for name in self.static
        }  # fmt: skip


class Broker:
    """``ends`` is, for each host that it had, when it ended there last, and whether the host lost its power.

    ``has_left``: it unregistered at least once.
    """

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], kind: Kind, group: Group, broker_id: int,
        host: str,
    ) -> None:  # fmt: skip
        self.world, self.network, self.servers, self.kind = world, network, servers, kind
        self.cluster, self.group, self.broker_id, self.host = "C1", group, broker_id, host
        self.name = group.name
        self.random = world.random_of(f"broker {self.name} {broker_id}")
        self.process: BrokerProcess | None = None
        self.standings: dict[str, Standing] = {}
        self.ends: dict[str, Ended] = {}
        self.has_left = False
        self.started_us = 0
        self.forget_standings()

    @property
    def label(self) -> str:
        return f"{self.name}[{self.broker_id}]@{self.host}"

    @property
    def addr(self) -> str:
        return f"{self.host}:10911"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.is_alive

    def forget_standings(self) -> None:
        self.standings = {server.name: Standing() for server in self.servers}

    def start(self) -> None:
        if self.is_running or not self.network.is_up(self.host):
            return
        self.process = process = BrokerProcess(self)
        self.started_us = self.world.now_us
        self.forget_standings()
        self.network.listeners[self.host, 10911] = process.visitors.append
        process.after(0, lambda: self._register_all(process))
        process.after(SECOND_REGISTRATION_US, lambda: self._tick(process))
        if self.kind.searches:
            process.after(SEARCH_US, lambda: self._search(process))
        if self.kind.acting:
            process.after(QUESTION_US, lambda: self._question(process))

    def _tick(self, process: BrokerProcess) -> None:
        if self.kind.asks_first:
            self._ask_then_register(process)
        else:
            self._register_all(process)
        process.after(PERIOD_US, lambda: self._tick(process))

    def _search(self, process: BrokerProcess) -> None:
        for remote in process.remotes:
            remote.keep()
        process.after(SEARCH_US, lambda: self._search(process))

    def _question(self, process: BrokerProcess) -> None:
        """The heartbeat of a broker that knows acting masters: 322 without an answer."""
        for remote in process.remotes:
            if remote.channel is not None:
                remote.channel.oneway(codes.QUERY_DATA_VERSION, self._identity(), self._version_body())
        process.after(QUESTION_US, lambda: self._question(process))

    def _ask_then_register(self, process: BrokerProcess) -> None:
        """Java's needRegister: one name server that does not know the version is enough."""
        answers: list[Answer] = []

        def take(answer: Answer) -> None:
            answers.append(answer)
            is_last = len(answers) == len(process.remotes)
            if is_last and any(one.ext.get("changed") != "false" for one in answers) and not process.is_leaving:
                self._register_all(process)

        for remote in process.remotes:
            remote.with_channel(lambda channel: self._ask(channel, take))

    def _ask(self, channel: Channel | None, take: Then) -> None:
        if channel is None:
            take(Answer(None, {}, b""))
        else:
            channel.request(codes.QUERY_DATA_VERSION, self._identity(), self._version_body(), take,
                            REGISTER_WITHIN_US)  # fmt: skip

    def _identity(self) -> dict[str, str]:
        return {"brokerAddr": self.addr, "brokerId": str(self.broker_id), "brokerName": self.name,
                "clusterName": self.cluster}  # fmt: skip

    def _version(self) -> dict[str, int]:
        return data_version(self.group.counter, START_EPOCH_MS + self.group.counter)

    def _version_body(self) -> bytes:
        return dumps(self._version())

    def _register_all(self, process: BrokerProcess, only: dict[str, Queues] | None = None) -> None:
        """Tell every name server all topics, or only these."""
        if process.is_leaving:
            return
        topics = dict(self.group.topics if only is None else only)
        configs = [topic_config(name, read, write, perm) for name, (read, write, perm) in topics.items()]
        body = register_body(configs, self._version(), mapping=self.group.mappings())
        acting = {"heartbeatTimeoutMillis": str(ACTING_TIMEOUT_MS), "enableActingMaster": "true"}
        more = (acting if self.kind.acting else {}) | {"zoneName": self.group.zone}
        ext = register_ext(self.cluster, self.name, self.addr, self.broker_id, body, **more)
        for remote in process.remotes:
            self._register(process, remote, ext, body, Said(self.world.now_us, self.group.counter, topics))

    def _register(self, process: BrokerProcess, remote: Remote, ext: dict[str, str], body: bytes, said: Said) -> None:
        standing = self.standings[remote.server.name]

        def use(channel: Channel | None) -> None:
            if channel is not None and not process.is_leaving:
                sent = replace(said, sent_us=self.world.now_us)
                standing.sent.append(sent)
                channel.request(codes.REGISTER_BROKER, ext, body, lambda answer: take(sent, answer), REGISTER_WITHIN_US)

        def take(sent: Said, answer: Answer) -> None:
            sent.is_waiting = False
            if answer.is_success and process is self.process:
                sent.answered_us = self.world.now_us
                standing.accepted = sent
                standing.sent = [one for one in standing.sent if one.sent_us >= sent.sent_us]

        remote.with_channel(use)

    def change_topics(self) -> None:
        """A topic is created, or its queues change. The broker tells all topics at once, or only this one."""
        name = f"T{self.random.randint(0, 11)}"
        topics = self.group.topics
        read, _, perm = topics.get(name, (0, 0, 6))
        queues = self.random.choice([one for one in (4, 8, 12, 16) if one != read])
        topics[name] = (queues, queues, perm)
        self.group.counter += 1
        if self.process is not None and self.is_running and not self.process.is_stopped:
            with self.world.as_process(self.process):
                only = {name: topics[name]} if self.random.random() < 0.4 else None
                self._register_all(self.process, only)

    def kill(self) -> None:
        """The process is gone; the kernel closes its connections."""
        self._end(vanishes=False)

    def lose_power(self) -> None:
        """The host is gone; nobody is told."""
        self.network.down.add(self.host)
        self._end(vanishes=True)
        # Its process may have ended before.
        self.ends[self.host] = self.ends.get(self.host, self._ended())._replace(is_silent=True)

    def _end(self, *, vanishes: bool) -> None:
        process = self.process
        if process is None or not process.is_alive:
            return
        process.die()
        self.ends[self.host] = self._ended()._replace(is_silent=vanishes)
        self.network.listeners.pop((self.host, 10911), None)
        for remote in process.remotes:
            remote.abandon(vanishes=vanishes)
        for socket in process.visitors:
            socket.vanish() if vanishes else socket.close()

    def _ended(self) -> Ended:
        return Ended(self.started_us, self.world.now_us, is_silent=True)

    def stop(self) -> None:
        """Unregister at each name server (104), wait for each answer up to 3 s, and end."""
        process = self.process
        if process is None or not process.is_alive or process.is_stopped or process.is_leaving:
            return
        process.is_leaving = self.has_left = True
        waiting = set(range(len(process.remotes)))

        def done(number: int) -> None:
            waiting.discard(number)
            if not waiting and process.is_alive and process is self.process:
                self._end(vanishes=False)

        with self.world.as_process(process):
            for number, remote in enumerate(process.remotes):
                process.after(LEAVE_WITHIN_US, lambda number=number: done(number))
                remote.with_channel(lambda channel, number=number: self._leave(channel, lambda: done(number)))

    def _leave(self, channel: Channel | None, done: Callable[[], None]) -> None:
        if channel is None:
            done()
        else:
            channel.request(codes.UNREGISTER_BROKER, self._identity(), b"", lambda _answer: done(),
                            LEAVE_WITHIN_US)  # fmt: skip

    def move(self, host: str) -> None:
        """The next process has another address (a pod that was rescheduled)."""
        self.host = host


def a_group(random: random.Random, name: str) -> Group:
    """Some have a zone, and some have static topics."""
    # A few of a small set, so that brokers share them.
    topics = {f"T{number}": (8, 8, 6) for number in sorted(random.sample(range(12), random.randint(2, 6)))}
    zone = random.choice([None, None, "z1", "z2"])
    static = tuple(random.sample(sorted(topics), 1)) if random.random() < 0.3 else ()
    return Group(name, topics, zone=zone, static=static)
