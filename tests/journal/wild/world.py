"""A name server without sockets whose journal is files: the same processors, tables, records and replay."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from unittest.mock import Mock

from interop.harness import codes
from rocketns.config import Configuration
from rocketns.config.journal import JournalConfig
from rocketns.journal import journal as journals
from rocketns.journal.journal import Journal
from rocketns.journal.pieces import snapshot
from rocketns.journal.restore.restoring import restore
from rocketns.journal.segments import Store
from rocketns.journal.writer import Chunk
from rocketns.processor import dispatch
from rocketns.processor.context import Now
from rocketns.protocol.body.route import DataVersion
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.events import Cause, Event
from rocketns.routeinfo.tables import BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unconfirmed.filling import fill, topic_pieces
from rocketns.routeinfo.unconfirmed.replacing import replace_overdue
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from rocketns.server.core import Core, Outside, State
from rocketns.server.publishing import delivery
from tests.journal.memory import BOOT_MS, MemoryWriter, run_work
from tests.journal.wild.grammar import (
    CLUSTERS,
    CONNECTIONS,
    NAMES,
    TOPICS,
    Ask,
    Close,
    Pass,
    Restart,
    Step,
    Switch,
    Work,
)
from tests.processor.asking import InlineWriter
from tests.support.inprocess import FakeClock

NS = "n1"
CONFIRM_MS = 90_000
DAY_S = 86_400
LEVEL = logging.CRITICAL


@dataclass(eq=False)
class Connection:
    """A peer."""

    address: str
    host: str = "10.9.9.9"
    is_announced: bool = False
    place: tuple[str, str] = ("10.9.9.9", "10.9.9.9")


class Files(MemoryWriter):
    """A writer that writes at once."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:
        super().push(chunk, sync=sync)
        path = self._store.open_path(chunk.segment)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(chunk.data)
        if chunk.ends:
            path.rename(self._store.closed_path(chunk.segment))


@contextmanager
def small_pieces() -> Iterator[None]:
    """Pieces so small that much can happen between two of a snapshot. Nothing is logged."""
    before = logging.root.manager.disable
    logging.disable(LEVEL)
    patches = [(snapshot, "PIECE_ENTRIES", 1), (snapshot, "BLOCK_ENTRIES", 3), (snapshot, "TOPICS_IN_RECORD_MAX", 1),
               (journals, "STEP_ENTRIES", 1)]  # fmt: skip
    try:
        with (
            mock.patch.multiple(snapshot, **{name: value for where, name, value in patches if where is snapshot}),
            mock.patch.object(journals, "STEP_ENTRIES", 1),
            mock.patch.object(dispatch.log, "exception", side_effect=AssertionError("an unforeseen error")),
            mock.patch.object(delivery.log, "exception", side_effect=AssertionError("an unforeseen error")),
        ):
            yield
    finally:
        logging.disable(before)


class World:
    """The core of a name server, its journal and its peers.

    `play` takes a step. `restart` gives the tables as they were before it.

    ``home`` is emptied first. ``rotation``: bytes after which a file of the journal ends.
    """

    def __init__(self, home: Path, rotation: int = 1 << 20) -> None:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        config_file = home / "namesrv.properties"
        config_file.write_text(f"kvConfigPath={home / 'kv.json'}\n", "utf-8")
        self.configuration = Configuration.build(str(config_file), home=home)
        self.root = home / "j"
        self.clock = FakeClock(BOOT_MS)
        self.journal_config = JournalConfig(journal_path=str(self.root), journal_ns=NS, journal_lookup_seconds=0,
                                            journal_rotation_bytes=rotation)  # fmt: skip
        self._start()

    def _start(self) -> None:
        self.peers = [Connection(f"10.9.9.{number}:1") for number in range(CONNECTIONS)]
        state = State(self.configuration)
        self.tables = tables = state.tables
        outside = Outside(Mock(), InlineWriter(), record=self._record)
        self.core = Core(self.configuration, self.clock, state, outside)
        self.context = self.core.context
        self.restored = restore(self.root, NS, self.now.epoch_ms, DAY_S)
        if self.restored is not None:
            fill(tables, deepcopy(self.restored.routes), Reason.RESTORED, self.now.ms, CONFIRM_MS)
            for piece in topic_pieces(tables):
                state.publisher.publish(list(piece))
        self.steps: list = []
        self.journal = Journal(self.journal_config, NS, tables, {}, self.now.epoch_ms, self._later)
        self.journal.steps = self.steps  # type: ignore[attr-defined]
        self.files = self.journal.writer = self.journal.buffer._writer = Files(Store(self.root, NS))
        self.journal.start(lambda call: call(), self.now.epoch_ms, self.restored and Reason.RESTORED)

    @property
    def now(self) -> Now:
        return self.clock.now()

    def _record(self, events: list[Event], now_ms: int, epoch_ms: int) -> bool:
        return self.journal.record(events, now_ms, epoch_ms)

    def _later(self, _seconds: float, step: object) -> None:
        self.steps.append(step)

    def deliver(self, events: list[Event]) -> None:
        self.core.delivery.deliver(events, self.now)

    def ask(self, step: Ask) -> Reply:
        command = RemotingCommand(step.code, step.version, 1, 0, dict(step.ext), step.body or None)
        reply = dispatch.process(self.context, command, self.peers[step.connection], self.now)
        self.deliver(self.context.take_events())
        if step.applied:
            self.apply()
        return reply

    def apply(self) -> None:
        """Apply the waiting unregistrations as one batch."""
        batch = self.context.unregister_queue.take_all() or liveness.orphaned(self.tables, 2)
        while batch:
            self.deliver(unregister_brokers(self.tables, batch, self.now.ms))
            batch = liveness.orphaned(self.tables, 2)

    def play(self, step: Step) -> None:
        """Any step but a restart."""
        match step:
            case Ask():
                self.ask(step)
            case Close(connection, True):
                self.keep(self.peers[connection])
            case Close(connection):
                for request in liveness.closed_connection(self.tables, self.peers[connection], Cause.CHANNEL_CLOSE):
                    self.submit(request)
                self.apply()
            case Pass(ms):
                self.pass_time(ms)
            case Work(steps):
                run_work(self.journal, steps)
            case Switch(name, value):
                names = {"supportActingMaster": "support_acting_master",
                         "deleteTopicWithBrokerRegistration": "delete_topic_with_broker_registration"}  # fmt: skip
                setattr(self.configuration.namesrv, names[name], value)
            case Restart():
                raise AssertionError("see restart")

    def keep(self, peer: Connection) -> None:
        for key, entry in liveness.let_go(self.tables, peer):
            if entry.doubt is None:
                doubt = liveness.doubt_of(
                    entry, Reason.STALLED, self.now.ms + entry.timeout_ms, self.now.ms, self.now.epoch_ms
                )
                self.deliver(liveness.doubt_broker(self.tables, key, doubt, self.now.ms))

    def submit(self, request: UnregisterRequest) -> None:
        assert self.context.unregister_queue.submit(request)

    def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)
        self.deliver(list(replace_overdue(self.tables, self.now.ms)))
        for expired in liveness.expired_brokers(self.tables, self.now.ms):
            self.submit(expired.request)
        self.apply()
        self.journal.tick(self.now.epoch_ms)

    def restart(self, step: Restart) -> RouteTables:
        if not step.kill:
            for _ in self.journal.last_snapshot():
                pass
            self.journal.stop(self.now.epoch_ms)
        before = self.tables
        self.clock.set_wall(1)
        self._start()
        return before


FORMS: tuple[tuple[int, dict[str, str]], ...] = (
    (400, {}), (400, {"acceptStandardJsonOnly": "true"}), (513, {}),
    (513, {"__ZONE_MODE": "true", "__ZONE_NAME": "Z1"}),
)  # fmt: skip
LISTS = (
    codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    codes.GET_UNIT_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    codes.GET_ROUTE_DIGESTS,
)  # fmt: skip

Question = tuple[int, dict[str, str], int]


def questions(tables: RouteTables) -> Iterator[Question]:
    """Code, fields and version of every reading request about what the tables or the grammar name."""
    for topic in sorted({*TOPICS, *tables.topic_queue_table}):
        for version, form in FORMS:
            yield codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic} | form, version
    for code in LISTS:
        yield code, {}, 513
    for cluster in sorted({*CLUSTERS, *tables.cluster_addr_table}):
        yield codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513
    for name in sorted({*NAMES, *tables.broker_addr_table}):
        yield codes.GET_BROKER_MEMBER_GROUP, {"brokerName": name, "clusterName": "C"}, 513


def answers(world: World, asked: list[Question]) -> dict[str, Reply]:
    """With acting masters and without."""
    config, found = world.configuration.namesrv, {}
    was = config.support_acting_master
    for config.support_acting_master in (False, True):
        for code, ext, version in asked:
            command = RemotingCommand(code, version, 1, 0, dict(ext), None)
            reply = dispatch.process(world.context, command, world.peers[0], world.now)
            found[f"{code} {ext} version {version} acting {config.support_acting_master}"] = reply
    config.support_acting_master = was
    return found


class Entry(NamedTuple):
    """A live entry: what 322 says of an address, which would be a sign of life, and what a slave is told of its master.

    None but ``filters``: there are only filter servers.
    """

    version: DataVersion | None
    ha_addr: str | None
    timeout_ms: int | None
    announced_by: str | None
    filters: list[str | None]


Said = dict[tuple[str, str], Entry]


def live_entries(tables: RouteTables) -> Said:
    """By cluster and address."""
    found = {}
    for key in tables.broker_live_table.keys() | tables.filter_server_table.keys():
        entry, filters = tables.broker_live_table.get(key), tables.filter_server_table.get(key, [])
        found[key.cluster, key.addr] = Entry(*_of(entry), filters)
    return found


def _of(entry: BrokerLiveInfo | None) -> tuple[DataVersion | None, str | None, int | None, str | None]:
    if entry is None:
        return None, None, None, None
    return entry.data_version, entry.ha_server_addr, entry.timeout_ms, entry.announced_by
