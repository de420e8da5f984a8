"""Brokers and clients of a long soak. Each acts once when it is called, and checks every answer."""

from __future__ import annotations

import itertools
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import get_kv
from tests.fast.clients import CLIENTS, look_up
from tests.soak.actors import Fault, read_route
from tests.soak.long.timeline import Timeline

TOPICS = [f"soak{number}" for number in range(300)]
CHANGED_EACH_TIME = 5
GENERATIONS = 1000
# Longer than any disturbance, so that a stopped server makes a peer wait and not fail.
ANSWER_S = 60.0
HEARTBEAT_TIMEOUT_MS = 15_000
KILLED, FULL = "killed", "disk full"
RESTORING = b'"code":%d,' % codes.SYSTEM_ERROR
Asked = Callable[[Client], None]


@dataclass
class Service:
    """A server under soak, and what was done to it. It may be restarted on another port at any time."""

    server: NameServer
    timeline: Timeline

    def connect(self) -> Client:
        return Client(self.server.port, timeout_s=ANSWER_S)


class Peer(ABC):
    """Asks over one connection. It may lose the connection only to a kill of the server, and then reconnects."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.client: Client | None = None
        self.answers = 0

    @abstractmethod
    def act(self) -> None:
        """Ask once; `Fault` if an answer is wrong."""

    def ask(self, question: Asked) -> bool:
        """False where a kill took the answer away."""
        since = time.monotonic()
        try:
            self.client = self.client or self.service.connect()
            question(self.client)
        except OSError as error:
            self._lost(error, since)
            return False
        self.answers += 1
        return True

    def _lost(self, error: OSError, since: float) -> None:
        if self.client is not None:
            self.client.close()
        self.client = None
        if not self.service.timeline.explains(KILLED, since):
            raise Fault(f"{type(self).__name__} lost its connection, and nobody killed the server: {error!r}")


class Broker(Peer):
    """Registers all of its topics, some of them changed each time, and reads them back over the connection."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__(service)
        self.name, self.addr = f"b{number}", f"10.0.{number}.1:1"
        self.generations = itertools.cycle(range(1, GENERATIONS))
        # All different from the beginning: equal queues share one object, and memory would grow until none are equal.
        self.of = {topic: 1 + n % (GENERATIONS - 1) for n, topic in enumerate(TOPICS)}
        self.chance = random.Random(number)

    def act(self) -> None:
        self.ask(self.register)

    def register(self, client: Client) -> None:
        generation = next(self.generations)
        changed = self.chance.sample(TOPICS, CHANGED_EACH_TIME)
        self.of |= dict.fromkeys(changed, generation)
        body = register_body([topic_config(name, n, n) for name, n in self.of.items()], data_version(generation))
        fields = register_ext(broker=self.name, addr=self.addr, body=body, heartbeatTimeoutMillis=HEARTBEAT_TIMEOUT_MS)
        code = client.request(codes.REGISTER_BROKER, fields, body).code
        if code != codes.SUCCESS:
            raise Fault(f"the registration of {self.name} was answered with code {code}")
        for topic in changed:
            client.send(look_up(CLIENTS[0], topic, generation))
            shown = read_route(client.receive_frame())
            if shown.get(self.name) != generation:
                raise Fault(f"{self.name} registered generation {generation} of {topic} and reads {shown}")


class Reader(Peer):
    """Looks topics up. Each route always has all brokers: they live, whatever disturbs the server.

    Only a server that was killed and restores for more than a second may say so instead of giving the route.
    """

    def __init__(self, service: Service, seed: int, brokers: int) -> None:
        super().__init__(service)
        self.chance = random.Random(seed)
        self.brokers = {f"b{number}" for number in range(brokers)}

    def act(self) -> None:
        self.ask(self.look)

    def look(self, client: Client) -> None:
        topics, since = self.chance.choices(TOPICS, k=self.chance.choice([1, 1, 5, 40])), time.monotonic()
        client.send(b"".join(look_up(self.chance.choice(CLIENTS), topic, 1) for topic in topics))
        for topic in topics:
            answer = client.receive_frame()
            if RESTORING in answer and self.service.timeline.explains(KILLED, since):
                continue  # a restore of more than a second
            if missing := self.brokers - read_route(answer).keys():
                raise Fault(f"the route of {topic} has no {sorted(missing)}: {answer[:200]!r}")


class Putter(Peer):
    """Puts and reads KV items. An item whose put was answered with success is there, also after a kill."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__(service)
        self.key, self.sent, self.kept = f"key{number}", 0, 0

    def act(self) -> None:
        since = time.monotonic()
        self.ask(lambda client: self.put(client, since))
        self.ask(self.get)

    def put(self, client: Client, since: float) -> None:
        self.sent += 1
        item = {"namespace": "soak", "key": self.key, "value": f"{self.sent} " + "x" * 500}
        code = client.request(codes.PUT_KV_CONFIG, item).code
        if code == codes.SUCCESS:
            self.kept = self.sent
        elif not self.service.timeline.explains(FULL, since):
            raise Fault(f"a KV item was answered with code {code}, and the disk was not full")

    def get(self, client: Client) -> None:
        answer = get_kv(client, "soak", self.key)
        value = int((answer.ext or {}).get("value", "0").split()[0])
        if not self.kept <= value <= self.sent:
            raise Fault(f"{self.key} is {value}; {self.kept} was kept and {self.sent} sent")


class Passer(Peer):
    """A connection for one request, or for none: a client that starts, or a scanner."""

    def __init__(self, service: Service, seed: int) -> None:
        super().__init__(service)
        self.chance = random.Random(seed)

    def act(self) -> None:
        self.ask(self.pass_by)
        if self.client is not None:
            self.client.close()
        self.client = None

    def pass_by(self, client: Client) -> None:
        if self.chance.randrange(4):
            client.send(look_up(self.chance.choice(CLIENTS), self.chance.choice(TOPICS), 1))
            read_route(client.receive_frame())
