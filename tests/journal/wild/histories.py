"""Plays histories, in this process or over sockets, and compares what is answered before and after each restart."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, frame
from interop.parity.sequences import shrink
from rocketns.journal import encoding
from rocketns.journal.reading.replay import Replay
from rocketns.routeinfo.tables import DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, settle_closes
from tests.journal.files import PatientServer
from tests.journal.replay import Record, State, check_columns, check_sequence
from tests.journal.wild import grammar
from tests.journal.wild.grammar import CLUSTERS, NAMES, TOPICS, Ask, Close, Pass, Restart, Step, Switch, Work
from tests.journal.wild.world import FORMS, LISTS, Entry, Said, World, answers, live_entries, questions, small_pieces


class Readers:
    """One reads everything since the start, another one begins with each snapshot. Each record is checked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.state, self.late = State(), State(lenient=True)
        self.records: list[Record] = []

    def begin_boot(self) -> None:
        """The server was restarted: it began with the routes of the journal."""
        check_sequence(self.records)
        self.records = []
        self.state, self.late = State(replay=_restored(self.world)), State(lenient=True)

    def read(self) -> None:
        """AssertionError with what differs."""
        self.world.journal.buffer.flush(self.world.now.epoch_ms)
        for record in self.world.files.take():
            check_columns(record)
            self.records.append(record)
            if record["ev"] == "snap" and record["part"] == 0:
                self.late = State(lenient=True)
            for state in (self.state, self.late):
                state.apply([_read(record)])
        self.state.check(self.world.tables)
        if self.late.snapshot_ended:
            self.late.check(self.world.tables)


def _read(record: Record) -> Any:
    """As `restore.lines` gives it."""
    return encoding.unescaped(record) if record.get("escaped") else record


def _restored(world: World) -> Replay:
    """A reader who knows what the start has put into the tables."""
    replay = Replay()
    if world.restored is not None:
        replay.routes = deepcopy(world.restored.routes)
        for live in replay.routes.lives.values():
            if live.members and live.timeout_ms is None:  # see `fill`
                live.timeout_ms = DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS
    return replay


SHRINK_TRIES_MAX = 400
ROTATIONS = (1 << 20, 1 << 20, 2_000)


@dataclass(frozen=True)
class Difference:
    """The first answer that differs after a restart."""

    steps: Sequence[Step]
    what: str
    before: object
    after: object

    def __str__(self) -> str:
        lines = "".join(f"    {step!r},\n" for step in self.steps)
        return f"{self.what}\n  before: {self.before}\n  after:  {self.after}\n  steps: [\n{lines}  ]"


Found = tuple[str, object, object]
Play = Callable[[Sequence[Step], Path, int], Difference | None]


def play(steps: Sequence[Step], home: Path, rotation: int = ROTATIONS[0]) -> Difference | None:
    """The first difference that a restart makes; None: all answers are equal."""
    with small_pieces():
        world = World(home, rotation)
        for number, step in enumerate(steps, 1):
            found = restarted(world, step) if isinstance(step, Restart) else world.play(step)
            if found is not None:
                return Difference(steps[:number], *found)
    return None


def read(steps: Sequence[Step], home: Path, rotation: int = ROTATIONS[0]) -> Difference | None:
    """The first step after which the journal tells something else than the tables; None: there is none."""
    with small_pieces():
        world = World(home, rotation)
        readers = Readers(world)
        for number, step in enumerate(steps, 1):
            try:
                _play_and_read(world, readers, step)
            except AssertionError as error:
                return Difference(steps[:number], "the journal differs from the tables", "", error)
    return None


def _play_and_read(world: World, readers: Readers, step: Step) -> None:
    if isinstance(step, Restart):
        world.restart(step)
        readers.begin_boot()
    else:
        world.play(step)
    readers.read()


def restarted(world: World, step: Restart) -> Found | None:
    asked = list(questions(world.tables))
    before, tables = answers(world, asked), world.tables
    said = live_entries(tables)
    world.restart(step)
    after = answers(world, asked)
    for what, reply in before.items():
        if after[what] != reply:
            return what, reply, after[what]
    return _of_lives(world, said, live_entries(world.tables))


def _of_lives(world: World, before: Said, after: Said) -> Found | None:
    """Two exceptions: see docs/reliability.md. An address of a group may have a live entry without a data version where
    it had none, or may have lost the data version if the last request before a kill was about its group.
    """
    restored = world.restored
    groups = {} if restored is None else restored.routes.groups
    members = [(name, broker) for name, group in groups.items() for broker in group.brokers.values()]
    forgotten = {(one.cluster, one.addr) for name, one in members if restored and name == restored.unfinished}
    revived = {(one.cluster, one.addr) for _, one in members if one.live.timeout_ms is None}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if key in forgotten and old is not None and new is not None:
            old = old._replace(version=new.version and old.version)
        if key in revived:
            old, new = _without_entry(old), _without_entry(new)
        if old != new:
            return f"live {key}", before.get(key), new
    return None


def _without_entry(said: Entry | None) -> Entry | None:
    """Without a live entry that has no data version."""
    if said is None or said.version is not None:
        return said
    return Entry(None, None, None, None, said.filters) if said.filters else None


def run(seed: str, home: Path, how: Play = play) -> Difference | None:
    """Play the history of a seed. A difference is that of the shortest history that was found."""
    rotation = random.Random(seed).choice(ROTATIONS)
    found = how(grammar.history(seed), home, rotation)
    return None if found is None else shortest(found, home, rotation, how)


def first_difference(seed: int, count: int, home: Path, how: Play) -> str | None:
    """Of so many histories, with the seed that replays it."""
    for number in range(seed, seed + count):
        difference = run(str(number), home, how)
        if difference is not None:
            return f"{difference}\nreplay with ROCKETNS_SEED={number}"
    return None


def shortest(found: Difference, home: Path, rotation: int, how: Play) -> Difference:
    """With fewer steps, of which the last one is the same."""
    last = found.steps[-1]

    def tried(steps: Sequence[Step]) -> Difference | None:
        return how([*steps, last], home, rotation)

    steps = shrink(found.steps[:-1], lambda some: tried(some) is not None, SHRINK_TRIES_MAX)
    return tried(steps) or found


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


def play_over_sockets(steps: Sequence[Step], home: Path, _rotation: int = 0) -> Difference | None:
    """The first difference that a restart makes. Time and the journal's work take their own course."""
    shutil.rmtree(home, ignore_errors=True)
    server = PatientServer(home, SETTINGS | {"journalPath": home / "j"}, options=["--reactors", "2"])
    try:
        return _play_over_sockets(steps, server)
    finally:
        server.kill()


def _play_over_sockets(steps: Sequence[Step], server: RocketnsServer) -> Difference | None:
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
