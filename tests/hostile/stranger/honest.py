"""Honest brokers, clients, probes and an operator beside strangers, and all answers about the routes."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from time import monotonic as now_s

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, eventually, frame, json_header
from rocketns.config import Limits
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, heartbeat, register, registered, unregister
from tests.behaviour.views import ask_route, loads
from tests.hostile.stranger.playing import Ports

# Each of the four phases is that of two groups, whenever the strangers end.
GROUPS = 8
TOPICS = ("T", "U", "V")
# Of a configuration file; None: it is absent.
DAMAGES = (b"\xff\0\n=\n\\u12", b"rocketns.progressSeconds=x\nlistenPort=70000\n", None, b"x=" + b"y" * (1 << 20))


class TablesFull(Exception):
    """Strangers took all room that there is for new routes: a stated limit, which says so."""


class Fleet:
    """Groups of a master and a slave. `change` goes on with the next group; each time it leaves another state.

    Acting master, filter servers and timeout of a group change one at a time, so that each has a record of its own.
    """

    def __init__(self, make_names: Callable[[], Names]) -> None:
        self._groups = [make_names() for _ in range(GROUPS)]
        self._round = 0

    def change(self, client: Client) -> Iterator[Callable[[], Answer]]:
        """Requests that tell everything that is recorded, for one group."""
        self._round += 1
        number, group = divmod(self._round, GROUPS)
        names, number = self._groups[group], number + group
        acting, filters, timeout_s = (((number + phase) // 4) % 2 for phase in (3, 2, 1))
        mapping = {"T": {"topic": names.topic("T"), "bname": names.broker, "scope": "__global__", "epoch": number,
                         "totalQueues": 8, "currIdMap": {"0": number % 8}}}  # fmt: skip
        again = partial(register, client, names, version=data_version(number),
                        enableActingMaster="true" if acting else "false")  # fmt: skip
        yield partial(again, configs(names, TOPICS, read=1 + number % 16), filters=["127.0.0.61:1"] if filters else [],
                      mapping=mapping if number % 3 else None,
                      heartbeatTimeoutMillis=100_000 + 1_000 * timeout_s)  # fmt: skip
        yield partial(again, ("T", "U"), host=2, broker_id=1)
        yield partial(client.request, codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": names.topic("W")},
                      _queues(names, number))  # fmt: skip
        yield partial(heartbeat, client, names)
        yield from self._operate(client, names, number)

    def _operate(self, client: Client, names: Names, number: int) -> Iterator[Callable[[], Answer]]:
        for code, every in ((codes.WIPE_WRITE_PERM_OF_BROKER, 2), (codes.ADD_WRITE_PERM_OF_BROKER, 4)):
            if number % every == every - 1:
                yield partial(client.request, code, {"brokerName": names.broker})
        if number % 3 == 2:
            yield partial(client.request, codes.DELETE_TOPIC_IN_NAMESRV, {"topic": names.topic("V")})
        if number % 5 == 4:
            yield partial(unregister, client, names, 2, 1)


class Operator:
    """Has the server read its configuration file again. Every second time the file is damaged or absent."""

    def __init__(self, server: NameServer) -> None:
        self._server, self._whole = server, server.config_path.read_bytes()
        self._round = 0

    def reload(self) -> None:
        """The next state of the file, and SIGHUP."""
        self._round += 1
        damaged = DAMAGES[self._round // 2 % len(DAMAGES)] if self._round % 2 else b""
        if damaged is None:
            self._server.config_path.unlink()
        else:
            self._server.config_path.write_bytes(damaged or self._whole)
        self._server.process.signal(signal.SIGHUP)

    def restore(self) -> None:
        """The file is whole again."""
        self._server.config_path.write_bytes(self._whole)


def expect(answer: Answer) -> None:
    """TablesFull, or AssertionError for any other answer that is not a success."""
    if "rocketns.routesMax" in (answer.remark or ""):
        raise TablesFull
    assert answer.code == codes.SUCCESS, f"answered with code {answer.code}: {answer.remark}"


def _queues(names: Names, number: int) -> bytes:
    queue = {"brokerName": names.broker, "perm": 6, "readQueueNums": 1 + number % 7, "writeQueueNums": 8}
    return dumps({"queueDatas": [queue]})


TOPICS_MAX = 20_000
SETTLES_WITHIN_S = 60
DIFFERENCES_SHOWN = 10


def read(client: Client) -> dict[str, bytes]:
    """The groups, the clusters, the list of topics, and the route of each, by name."""
    client.socket.settimeout(60)
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


def honest_of(answers: dict[str, bytes]) -> dict[str, bytes]:
    """Those about names of honest_of peers."""
    return {key: answer for key, answer in answers.items() if "honest-" in key}


def of_strangers(answers: dict[str, bytes]) -> str:
    """What the tables have of strangers that left. Nothing removes it, as in Java."""
    kinds = Counter(key.split()[0] for key in answers if "honest-" not in key and "whole" not in key)
    return ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items())) or "nothing"


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """What answers otherwise now, shortened."""
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    shown = [f"{key[:200]}: {short(before.get(key))}, then {short(after.get(key))}" for key in keys[:DIFFERENCES_SHOWN]]
    return [f"{len(keys)} answers differ", *shown] if keys else []


def short(answer: bytes | None) -> str:
    return "none" if answer is None else f"{len(answer)} bytes {answer[:300]!r}"


PAUSE_S = 0.1
LOOK_S, SCRAPE_S, RELOAD_S = 1.0, 0.3, 2.0
ANSWER_S_MAX = 60
JSON_FACTOR = 6  # of a control character in a name
NAME_BYTES_MAX = Limits().name_bytes_max
LARGE_TOPICS, PADDING = 1_600, "x" * 750  # 1.6 MB


@dataclass(frozen=True)
class Failure:
    """An honest peer was not answered, or wrongly."""

    what: str
    at_s: float


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
        registered(client, names)
        found(ask_route(client, names.topic("T")).code)

    def _sends_parts(self) -> None:
        client, sent = self.client("_sends_parts"), large_registration(self.large)
        third = len(sent) // 3
        for part in (sent[:third], sent[third : 2 * third]):
            client.send(part)
            self._over.wait(PAUSE_S)
        client.send(sent[2 * third :])
        found(client.receive().code)

    def _comes(self) -> None:
        names = HonestNames(self._port)
        with Client(self._ports.server, timeout_s=ANSWER_S_MAX) as client:
            expect(register(client, names))
            found(ask_route(client, names.topic("T")).code)

    def _changes(self) -> None:
        client = self.client("_changes")
        for ask in self._fleet.change(client):
            expect(ask())

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
        ok(*http(self._ports.management, "/livez"))

    def _discovers(self) -> None:
        ok(*http(self._ports.address, "/rocketmq/nsaddr"))


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
