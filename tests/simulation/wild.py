"""Whatever brokers, tools and time do to one name server: after a kill or a stop all answers are as before, byte by
byte. ``--wild``.

The steps are those of `tests.support.histories`. Invariants (d) to (g) hold as well; (a) to (c) are about brokers that
keep to their protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any, NamedTuple
from unittest.mock import patch

from interop.harness import codes
from rocketns.journal import encoding, snapshot
from rocketns.journal import journal as journals
from rocketns.journal import restore as restore_module
from rocketns.journal.journal import Journal
from rocketns.processor import requests
from rocketns.protocol.body.route import DataVersion
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables
from tests.processor.asking import Connection
from tests.simulation.filesystem import FileSystem
from tests.simulation.journals import check_closed_files
from tests.simulation.nameserver import PORT, NameServer, NameServerProcess
from tests.simulation.network import Socket
from tests.simulation.peers import Channel
from tests.simulation.routes import Routes
from tests.simulation.simulation import Case, Errors, Outcome, Simulation, run
from tests.simulation.world import Process, Violation
from tests.support.histories import WHOLE_HOUR_MS, WILD, Ask, Close, Pass, Restart, Step

MS_US = 1_000
WITHIN_US = 5_000 * MS_US
# A stop of the process that it takes for one.
STALL_US = 3_000 * MS_US
FORMS: tuple[tuple[int, dict[str, str]], ...] = (
    (400, {}), (400, {"acceptStandardJsonOnly": "true"}), (513, {}),
    (513, {"__ZONE_MODE": "true", "__ZONE_NAME": "Z1"}),
)  # fmt: skip
LISTS = (
    codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    codes.GET_UNIT_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    codes.GET_ROUTE_DIGESTS,
)  # fmt: skip
PEER: Any = Connection()
Question = tuple[int, dict[str, str], int]


def questions(tables: RouteTables) -> Iterator[Question]:
    """Code, fields and version of every reading request about what the tables or the grammar name."""
    for topic in sorted({*WILD.topics, *tables.topic_queue_table}):
        for version, form in FORMS:
            yield codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic} | form, version
    for code in LISTS:
        yield code, {}, 513
    for cluster in sorted({*WILD.clusters, *tables.cluster_addr_table}):
        yield codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513
    for name in sorted({*WILD.names, *tables.broker_addr_table}):
        yield codes.GET_BROKER_MEMBER_GROUP, {"brokerName": name, "clusterName": "C"}, 513


class Entry(NamedTuple):
    """A live entry: what 322 says of an address, which would be a sign of life, and what a slave is told of its master.

    None but ``filters``: there are only filter servers.
    """

    version: DataVersion | None
    ha_addr: str | None
    timeout_ms: int | None
    announced_by: str | None
    filters: list[str | None]


def entries_of(tables: RouteTables) -> dict[tuple[str, str], Entry]:
    """By cluster and address."""
    found = {}
    for key in tables.broker_live_table.keys() | tables.filter_server_table.keys():
        live, filters = tables.broker_live_table.get(key), tables.filter_server_table.get(key, [])
        found[key.cluster, key.addr] = (
            Entry(None, None, None, None, filters)
            if live is None
            else Entry(live.data_version, live.ha_server_addr, live.timeout_ms, live.announced_by, filters)
        )
    return found


# What no peer can do, in the name server's own thread.
Act = Callable[["WildSimulation"], None]


class AnyRoutes(Routes):
    """Does not judge who is in the routes, and why."""

    def changed(self, process: NameServerProcess, events: Sequence[Event]) -> None: ...

    def check(self, server: NameServer) -> None: ...


class WildSimulation(Simulation):
    """``tables`` are those at the end."""

    def __init__(self, case: Case, files: FileSystem, errors: Errors) -> None:
        super().__init__(case, files, errors)
        self.routes = AnyRoutes(self.world, self.network, self.servers, (), self.paths)
        self.peer = Process(self.world, "peers")
        (self.server,) = self.servers
        self._channels: dict[int, Channel] = {}
        self._asked: list[Question] = []
        self._before: dict[str, Reply] = {}
        self._entries: dict[tuple[str, str], Entry] = {}
        self.restored: Any = None

    @property
    def process(self) -> NameServerProcess:
        assert self.server.process is not None
        return self.server.process

    @property
    def tables(self) -> RouteTables:
        return self.process.controller.core.context.tables

    @property
    def journal(self) -> Journal:
        assert self.process.controller.journal is not None
        return self.process.controller.journal

    def run(self) -> None:
        restore = restore_module.restore

        def noting(*given: Any) -> Any:
            restored = restore(*given)
            self.restored = deepcopy(restored)
            return restored

        self._listen()
        with patch.object(restore_module, "restore", noting):
            try:
                self._start()
                self._each_second()
                for step in self.faults:
                    self._play(step)  # type: ignore[arg-type]
            finally:
                self.server.kill()  # so that nobody waits for its tasks
        check_closed_files(self.server)

    def _wait(self, us: int) -> None:
        self.world.run_until(self.world.now_us + us)

    def _play(self, step: Step | Act) -> None:
        match step:
            case Ask():
                self._ask(step)
            case Close(connection, stalled):
                self._close(connection, stalled=stalled)
            case Pass(ms) if ms >= WHOLE_HOUR_MS:
                self._begin_snapshot(ms)
            case Pass(ms):
                self._wait(ms * MS_US)
            case Restart(kill):
                self._restart(kill=kill)
            case _:
                step(self)

    def _begin_snapshot(self, ms: int) -> None:
        """The wall clock moves, so that a snapshot is due. What comes next comes before its end."""
        self.server.clock.wall_ms += ms
        ends_us = self.world.now_us + WITHIN_US
        while not self.journal._work and self.world.now_us < ends_us:
            self._wait(MS_US)

    def _ask(self, step: Ask) -> None:
        answered: list[object] = []
        self._channel(step.connection).ask(step.frame, answered.append, WITHIN_US)
        ends_us = self.world.now_us + WITHIN_US
        self._wait(MS_US)
        while step.waits and not answered and self.world.now_us < ends_us:
            self._wait(MS_US)
        if step.waits and not answered:
            raise Violation(f"no answer and no end of the connection within 5 s: {step}")

    def _channel(self, number: int) -> Channel:
        if number not in self._channels:
            opened: list[Socket] = []
            self.network.connect(f"10.0.5.{number}", (self.server.host, PORT), opened.append, lambda _why: None)
            while not opened:
                self._wait(MS_US)
            channel = Channel(self.peer, opened[0], lambda channel: self._forget(number, channel))
            self._channels[number] = channel
        return self._channels[number]

    def _forget(self, number: int, channel: Channel) -> None:
        if self._channels.get(number) is channel:
            del self._channels[number]

    def _close(self, number: int, *, stalled: bool) -> None:
        process, channel = self.process, self._channels.get(number)
        if stalled:
            process.stop_running()
            self._conditions_changed()
        if channel is not None:
            channel.close()
        if stalled:
            self._wait(STALL_US)
            process.go_on()
            self._conditions_changed()
        self._wait(2 * MS_US)

    def _restart(self, *, kill: bool) -> None:
        """Killed only when its disk has everything."""
        process, ends_us = self.process, self.world.now_us + 2 * WITHIN_US
        self._wait(MS_US)
        while kill and not self._is_written(process) and self.world.now_us < ends_us:
            self._wait(10 * MS_US)
        self._note_answers()
        if kill:
            self.server.kill()
        else:
            self.server.stop()
            while process.is_alive:
                self._wait(10 * MS_US)
        self._start()

    def _is_written(self, process: NameServerProcess) -> bool:
        assert process.journal is not None
        return not self.journal.buffer._front and process.journal.synced == len(process.journal.lines)

    def _start(self) -> None:
        self.server.start()
        while not self.server.serves:
            self._wait(MS_US)
        for channel in list(self._channels.values()):
            channel.close()

    def _server_started(self, process: NameServerProcess) -> None:
        super()._server_started(process)
        after = self._answers()
        for what, reply in self._before.items():
            if after[what] != reply:
                raise Violation(f"(e) {what}: {reply} before the restart, then {after[what]}")
        self._compare_entries(entries_of(self.tables))

    def _note_answers(self) -> None:
        self._asked = list(questions(self.tables))
        self._before, self._entries = self._answers(), entries_of(self.tables)

    def _answers(self) -> dict[str, Reply]:
        """With acting masters and without."""
        controller, found = self.process.controller, {}
        config = controller.configuration.namesrv
        was = config.support_acting_master
        for config.support_acting_master in (False, True):
            for code, ext, version in self._asked:
                command = RemotingCommand(code, version, 1, 0, dict(ext), None)
                reply = requests.process(controller.core.context, command, PEER, self.server.clock.now())
                found[f"{code} {ext} version {version} acting {config.support_acting_master}"] = reply
        config.support_acting_master = was
        return found

    def _compare_entries(self, after: dict[tuple[str, str], Entry]) -> None:
        """Two exceptions: see docs/reliability.md. An address of a group may have a live entry without a data version
        where it had none, or may have lost the data version if the last request before a kill was about its group."""
        restored = self.restored
        groups = {} if restored is None else restored.routes.groups
        members = [(name, broker) for name, group in groups.items() for broker in group.brokers.values()]
        forgotten = {(one.cluster, one.addr) for name, one in members if name == restored.unfinished}
        revived = {(one.cluster, one.addr) for _, one in members if one.live.timeout_ms is None}
        for key in self._entries.keys() | after.keys():
            old, new = self._entries.get(key), after.get(key)
            if key in forgotten and old is not None and new is not None:
                old = old._replace(version=new.version and old.version)
            if key in revived:
                old, new = _without_entry(old), _without_entry(new)
            if old != new:
                raise Violation(f"(e) the live entry of {key}: {old} before the restart, then {new}")


def _without_entry(told: Entry | None) -> Entry | None:
    """Without a live entry that has no data version."""
    if told is None or told.version is not None:
        return told
    return Entry(None, None, None, None, told.filters) if told.filters else None


@contextmanager
def small_pieces() -> Iterator[None]:
    """Pieces so small that much can happen between two of a snapshot."""
    with ExitStack() as stack:
        for module, name, value in (
            (snapshot, "PIECE_ENTRIES", 1), (snapshot, "BLOCK_ENTRIES", 3),
            (encoding, "TOPICS_IN_RECORD_MAX", 1), (journals, "STEP_ENTRIES", 1),
        ):  # fmt: skip
            stack.enter_context(patch.object(module, name, value))
        yield


def hold_snapshot(simulation: WildSimulation) -> None:
    """At most one further piece is written, which is due already."""
    simulation.journal._want_step = lambda: None  # type: ignore[method-assign]


def run_wild(case: Case) -> Outcome:
    with small_pieces():
        return run(case, WildSimulation)


def outcome_of(*steps: Step | Act, **settings: object) -> str | None:
    """The invariant that does not hold; None: all answers are as before after each restart."""
    return run_wild(Case(0, wild=True, steps=steps, settings=settings)).violation  # type: ignore[arg-type]
