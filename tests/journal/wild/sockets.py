"""The same histories with a real process over sockets, killed by SIGKILL; byte for byte the same answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, frame
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, settle_closes
from tests.journal.patient import PatientServer
from tests.journal.wild.answers import FORMS, LISTS
from tests.journal.wild.grammar import CLUSTERS, NAMES, TOPICS
from tests.journal.wild.histories import Difference, Found, Play
from tests.journal.wild.steps import Ask, Close, Pass, Restart, Step, Switch, Work

# Nothing expires by itself in a history, which takes less than a second. Brokers of a history refuse no connection.
SETTINGS = {
    "journalNs": "n1", "rocketns.askUnconfirmed": "false", "rocketns.confirmSeconds": 3_600,
    "scanNotActiveBrokerInterval": 3_600_000, "journalLookupSeconds": 0,
}  # fmt: skip
WITHOUT_TIME = (Pass, Work)
# The first scan comes after 5 s, and a busy machine may need longer for a history.
LONG_MS = "600000"
LATER = -1  # a connection that no history has
SHORT = {("heartbeatTimeoutMillis", value) for value in ("0", "50", "-1")}


def play(steps: Sequence[Step], home: Path, _rotation: int = 0, *, reactors: int = 2) -> Difference | None:
    """The first difference that a restart makes. Time and the journal's work take their own course."""
    shutil.rmtree(home, ignore_errors=True)
    options = ["--reactors", str(reactors)]
    server = PatientServer(home, SETTINGS | {"journalPath": home / "j"}, options=options)
    try:
        return _play(steps, server)
    finally:
        server.kill()


def player(reactors: int) -> Play:
    """`play` with so many reactors."""
    return partial(play, reactors=reactors)


def _play(steps: Sequence[Step], server: RocketnsServer) -> Difference | None:
    peers = _Peers(server)
    for number, step in enumerate(steps, 1):
        if isinstance(step, Restart):
            found = _restart(server, peers, step)
            if found is not None:
                return Difference(steps[:number], *found)
        elif not isinstance(step, WITHOUT_TIME):
            peers.play(step)
    return None


def _restart(server: RocketnsServer, peers: _Peers, step: Restart) -> Found | None:
    peers.settle()
    before = peers.answers()
    (server.kill if step.kill else server.stop)()
    peers.forget()
    server.start()
    after = peers.answers()
    for what, answer in before.items():
        if after[what] != answer:
            return what, answer, after[what]
    return None


class _Peers:
    """The connections of a history."""

    def __init__(self, server: RocketnsServer) -> None:
        self._server = server
        self._clients: dict[int, Client] = {}

    def _client(self, number: int) -> Client:
        if number not in self._clients:
            self._clients[number] = self._server.connect()
        return self._clients[number]

    def play(self, step: Step) -> None:
        match step:
            case Ask():
                ext = {name: LONG_MS if (name, value) in SHORT else value for name, value in step.ext.items()}
                _ask(self._client(step.connection), step.code, ext, step.body, step.version)
            case Close(connection, _):
                client = self._clients.pop(connection, None)
                if client is not None:
                    client.close()
            case Switch(name, value):
                body = f"{name}={str(value).lower()}\n".encode()
                _ask(self._client(0), codes.UPDATE_NAMESRV_CONFIG, {}, body, 513)

    def settle(self) -> None:
        """Wait until all that left is gone, and the journal says so: the answer to a registration waits for it."""
        settle_closes(self._server)
        registered(self._client(LATER), Names())

    def answers(self) -> dict[str, bytes | int]:
        """Settled ones: a broker that leaves is answered before it has left."""
        previous: dict[str, bytes | int] = {}
        with self._server.connect() as client:
            while (found := _answers(client)) != previous:
                previous = found
        return found

    def forget(self) -> None:
        with ExitStack() as stack:
            for client in self._clients.values():
                stack.callback(client.close)
        self._clients = {}


def _answers(client: Client) -> dict[str, bytes | int]:
    found = {}
    for acting in ("false", "true"):
        _ask(client, codes.UPDATE_NAMESRV_CONFIG, {}, f"supportActingMaster={acting}\n".encode(), 513)
        for code, ext, version in _questions():
            answer = _ask(client, code, ext, b"", version)
            found[f"{code} {ext} version {version} acting {acting}"] = answer
    return found


def _questions() -> Iterator[tuple[int, dict[str, str], int]]:
    for topic in TOPICS:
        for version, form in FORMS:
            yield codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic} | form, version
    for code in LISTS:
        yield code, {}, 513
    for cluster in CLUSTERS:
        yield codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513
    for name in NAMES:
        yield codes.GET_BROKER_MEMBER_GROUP, {"brokerName": name, "clusterName": "C"}, 513


def _ask(client: Client, code: int, ext: dict[str, str], body: bytes, version: int) -> bytes | int:
    """The body of the answer, or its code. The header is ASCII: names may hold lone surrogates."""
    header = {"code": code, "extFields": ext, "flag": 0, "language": "JAVA", "opaque": 1, "version": version,
              "serializeTypeCurrentRPC": "JSON"}  # fmt: skip
    client.send(frame(json.dumps(header).encode(), body))
    answer = client.receive()
    return answer.code if answer.body is None else answer.body
