"""Brokers, clients, probes and readers of the address list that behave normally: how long each waits, what it is told.

Nobody ends at a wrong answer or a closed connection: it is kept with its time, and the peer connects again.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from time import monotonic as now_s

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, frame, json_header
from rocketns.config import Limits
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered
from tests.behaviour.views import ask_route
from tests.hostile.stranger.honest_brokers import Fleet, Operator, TablesFull, expect
from tests.hostile.stranger.playing import Ports
from tests.hostile.watch import own_delay_s, threads_s

PAUSE_S = 0.1
LOOK_S, SCRAPE_S, RELOAD_S = 1.0, 0.3, 2.0
ANSWER_S_MAX = 60
JSON_FACTOR = 6  # of a control character in a name
NAME_BYTES_MAX = Limits().name_bytes_max
CHANGE = "a change of a known group"
LARGE_TOPICS, PADDING = 1_600, "x" * 750  # 1.6 MB
REGISTRATION, LOOKUP = "a known broker's registration", "a lookup"
IN_PARTS = "a known broker's registration of 1.6 MB in three parts"
OF_NEW = (FIRST_REGISTRATION, FIRST_LOOKUP) = ("a new broker's first registration", "a new client's lookup")
ALIVE, LISTED = "/livez", "the list of the address server"


@dataclass(frozen=True)
class Wait:
    """From when to when by the monotonic clock, and what went on meanwhile.

    ``cpu_s``: CPU seconds of the server's thread that worked most. ``lost_s``: a thread on the way of the request was
    ready to run and had no core.
    """

    began_s: float
    ended_s: float
    cpu_s: float
    lost_s: float = 0.0

    @property
    def slept_s(self) -> float:
        """Neither the server nor other programs worked."""
        return self.ended_s - self.began_s - self.cpu_s - self.lost_s

    @property
    def seconds(self) -> float:
        """By the clock without what the machine took, or of the thread that worked most, whichever is less."""
        return max(0.0, min(self.cpu_s, self.ended_s - self.began_s - self.lost_s))

    def __str__(self) -> str:
        clock_s = self.ended_s - self.began_s
        return (f"{self.seconds * 1000:.1f} ms ({clock_s * 1000:.1f} ms by the clock, the machine took "
                f"{self.lost_s * 1000:.1f} ms, the server worked {self.cpu_s * 1000:.1f} ms)")  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """An honest peer was not answered, or wrongly."""

    what: str
    at_s: float


@dataclass
class Waits:
    """How long requests wait, by what is asked."""

    server: NameServer
    of: dict[str, list[Wait]] = field(default_factory=dict)

    def measure(self, what: str, ask: Callable[[], object]) -> None:
        """Ask, and note how long it took unless it fails."""
        before, own_s, began_s = threads_s(self.server.pid), own_delay_s(), now_s()
        ask()
        ended_s, after = now_s(), threads_s(self.server.pid)
        ran_s, waited_s = (
            max(after[one][kind] - before.get(one, (0.0, 0.0))[kind] for one in after) for kind in (0, 1)
        )
        self.of.setdefault(what, []).append(Wait(began_s, ended_s, ran_s, own_delay_s() - own_s + waited_s))


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


class Honest:
    """While it is entered: known brokers and clients that stay connected, new ones, and askers of the other ports."""

    def __init__(
        self, server: NameServer, ports: Ports, port: int, note_scrape: Callable[[bytes, float], None]
    ) -> None:
        """``port`` is that of honest brokers. ``note_scrape`` gets each answer of /metrics, and the time."""
        self.waits = Waits(server)
        self.failures: list[Failure] = []
        self.refused = 0
        self._ports, self._port, self._server = ports, port, server
        self.small, self.large = HonestNames(port), HonestNames(port)
        self._fleet, self._operator = Fleet(lambda: HonestNames(port)), Operator(server)
        self.note_scrape = note_scrape
        self._listening = [socket.create_server((f"127.0.0.{host}", port), backlog=256) for host in (61, 62)]
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(peer,)) for peer in (
            self._stays, self._sends_parts, self._comes, self._changes, self._reloads, self._looks, self._manages,
            self._scrapes, self._discovers)]  # fmt: skip
        self.known = contextlib.ExitStack()  # the connections of known brokers, which outlast the others
        self._clients: dict[str, Client] = {}

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
        self._operator.restore()

    def end(self) -> None:
        """The known brokers leave, too."""
        self.known.close()
        for one in self._listening:
            one.close()

    def _go_on(self, peer: Callable[[], None]) -> None:
        while not self._over.wait(PAUSE_S):
            try:
                peer()
            except TablesFull:
                self.refused += 1
            except (AssertionError, OSError, HTTPException) as error:
                name = peer.__name__.strip("_").replace("_", " ")
                self.failures.append(Failure(f"who {name}: {error or type(error).__name__}", now_s()))
                self._clients.pop(peer.__name__, None)

    def client(self, whose: str) -> Client:
        """The connection of a known peer, reopened if it failed."""
        if whose not in self._clients:
            self._clients[whose] = self.known.enter_context(Client(self._ports.server, timeout_s=ANSWER_S_MAX))
        return self._clients[whose]

    def _stays(self) -> None:
        client, names = self.client("_stays"), self.small
        self.waits.measure(REGISTRATION, lambda: registered(client, names))
        self.waits.measure(LOOKUP, lambda: found(ask_route(client, names.topic("T")).code))

    def _sends_parts(self) -> None:
        client, sent = self.client("_sends_parts"), large_registration(self.large)
        third = len(sent) // 3
        for part in (sent[:third], sent[third : 2 * third]):
            client.send(part)
            self._over.wait(PAUSE_S)

        def send_the_rest() -> None:
            client.send(sent[2 * third :])
            found(client.receive().code)

        self.waits.measure(IN_PARTS, send_the_rest)

    def _comes(self) -> None:
        names = HonestNames(self._port)
        with Client(self._ports.server, timeout_s=ANSWER_S_MAX) as client:
            self.waits.measure(FIRST_REGISTRATION, lambda: expect(register(client, names)))
            self.waits.measure(FIRST_LOOKUP, lambda: found(ask_route(client, names.topic("T")).code))

    def _changes(self) -> None:
        client = self.client("_changes")
        for ask in self._fleet.change(client):
            self.waits.measure(CHANGE, partial(_expect_of, ask))

    def _reloads(self) -> None:
        self._operator.reload()
        self._over.wait(RELOAD_S)

    def _looks(self) -> None:
        """No stranger makes a table hold a longer name than is stated, or an answer too large to be given."""
        client = self.client("_looks")
        for code in (codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER):
            answer = client.request(code)
            found(answer.code)
            longest = max(map(len, (answer.body or b"").split(b'"')))
            assert longest <= JSON_FACTOR * NAME_BYTES_MAX, f"the answer to {code} has a name of {longest} bytes"
        self._over.wait(LOOK_S)

    def _scrapes(self) -> None:
        status, body = http(self._ports.management, "/metrics")
        ok(status, body)
        self.note_scrape(body, now_s())
        self._over.wait(SCRAPE_S)

    def _manages(self) -> None:
        self.waits.measure(ALIVE, lambda: ok(*http(self._ports.management, "/livez")))

    def _discovers(self) -> None:
        self.waits.measure(LISTED, lambda: ok(*http(self._ports.address, "/rocketmq/nsaddr")))


def _expect_of(ask: Callable[[], Answer]) -> None:
    expect(ask())


def found(code: int) -> None:
    assert code == codes.SUCCESS, f"answered with code {code}"


def ok(status: int, body: bytes) -> None:
    assert status == 200, f"answered {status}: {body[:200]!r}"
    assert body.strip(), "an empty answer"


def http(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_S_MAX)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def large_registration(names: HonestNames) -> bytes:
    """A frame of 1.6 MB."""
    topics = [topic_config(names.topic(f"L{n}")) | {"attributes": {"+a": PADDING}} for n in range(LARGE_TOPICS)]
    body = register_body(topics)
    ext = register_ext(names.cluster, names.broker, names.addr(2), body=body)
    return frame(json_header(codes.REGISTER_BROKER, ext, opaque=1), body)
