"""Invariants (d) and (e): the journal replays to the tables, and a crash leaves only records that were written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from rocketns.journal import encoding
from rocketns.journal.chain import BLANK, HASH_CHARS, NO_HASH
from rocketns.journal.segments import OPEN_PREFIX
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.tables import RouteTables
from tests.journal.replay import State, check_columns
from tests.simulation.disk import File, Folder
from tests.simulation.nameserver import JournalWork, NameServer, NameServerProcess
from tests.simulation.world import Violation

SEAL = re.compile(rb',"prev":"([0-9a-f]+)","hash":"([0-9a-f]+)"\}')


class Reader:
    """Reads the records that a journal gets, like a reader of its files, and compares the result with the tables.

    After a loss the state is unknown until the next whole snapshot.
    """

    def __init__(self, process: NameServerProcess, writer: JournalWork) -> None:
        self._process = process
        self._writer = writer
        self._read = self._read_of_front = 0
        self._front: bytearray | None = None
        self._seq = self._missing = 0
        # What was restored is known when the snapshot that follows the start has ended.
        self._state: State | None = State() if process.controller.core.context.tables == RouteTables() else None
        self._late: State | None = None

    def read(self) -> None:
        """Every record that is new since the last call."""
        journal = self._process.controller.journal
        assert journal is not None
        lines = self._writer.lines
        front = journal.buffer._front
        new = lines[self._read :]
        if self._front is not None and front is not self._front:  # handed over: its lines are among the writer's
            new, self._read_of_front = new[self._read_of_front :], 0
        elif self._front is not None and new:
            raise Violation(f"(d) {self._process.name}: lines came from nowhere")
        self._read = len(lines)
        self._front = front
        waiting = bytes(front).splitlines()
        new += waiting[self._read_of_front :]
        self._read_of_front = len(waiting)
        for line in new:
            self._apply(orjson.loads(line))

    def _apply(self, one: dict) -> None:  # type: ignore[type-arg]
        check_columns(one)
        gap = one["seq"] - self._seq - 1
        self._seq = one["seq"]
        self._missing += gap - one.get("lost", 0)
        if gap < 0 or self._missing < 0:
            raise Violation(f"(d) {self._process.name}: the records before {self._seq} have numbers of others")
        if gap:
            self._state = self._late = None
        if one["ev"] == "snap" and one["part"] == 0:
            self._late = State(lenient=True)
        try:
            for state in (self._state, self._late):
                if state is not None:
                    state.apply([encoding.unescaped(one) if one.get("escaped") else one])
        except AssertionError as error:
            raise Violation(f"(d) the journal of {self._process.name} contradicts itself: {error}") from error
        if one["ev"] == "snap" and one.get("end") and self._late is not None:
            self._end_snapshot(self._late)

    def _end_snapshot(self, late: State) -> None:
        """A reader that began with the snapshot has the same state as one that read everything."""
        self._late = None
        if self._state is None:
            self._state = late
        elif (shown := _comparable(late)) != (expected := _comparable(self._state)):
            raise Violation(f"(d) a snapshot of {self._process.name} has {shown}, the journal has {expected}")

    def check(self) -> None:
        """(d) The state that was read equals the tables."""
        self.read()
        controller = self._process.controller
        assert controller.journal is not None
        if controller.journal.buffer.lost:
            return
        if self._missing:
            raise Violation(f"(d) {self._missing} records of {self._process.name} are missing, and no drop states them")
        if self._state is None:
            return
        try:
            self._state.check(controller.core.context.tables)
        except AssertionError as error:
            raise Violation(f"(d) the journal of {self._process.name} differs from its tables: {error}") from error
        kv = {(name, key): value for name, table in controller.core.context.kv_config.config_table.items()
              for key, value in table.items() if value is not None}  # fmt: skip
        if self._state.kv != kv:
            raise Violation(f"(d) the journal of {self._process.name} has other KV items: {self._state.kv} {kv}")


def _comparable(state: State) -> dict[str, object]:
    return state.shown() | {"kv": state.kv}


def check_files(server: NameServer, process: NameServerProcess) -> None:
    """(e) After the end of a process: its files have its records in their order, and all that were synced."""
    writer = process.journal
    if writer is None:
        return
    whole = lines_of(server, process.controller.journal.buffer._boot)  # type: ignore[union-attr]
    if [SEAL.sub(BLANK.strip(), line) for line in whole] != writer.lines[: len(whole)]:
        raise Violation(f"(e) the files of {process.name} have other records than were written")
    if len(whole) < writer.synced:
        raise Violation(f"(e) {process.name} synced {writer.synced} records, and {len(whole)} are left")


def lines_of(server: NameServer, boot: int) -> list[bytes]:
    """The whole lines that the disk has of a process, in their order, without their ends."""
    found = [line for name, file in sorted(_files(server.disk.folder), key=lambda one: one[0])
             if name.startswith(f"{boot}-") for line in bytes(file.data).splitlines(keepends=True)]  # fmt: skip
    return [line.rstrip(b"\n") for line in found if line.endswith(b"\n")]


def check_closed_files(server: NameServer) -> None:
    """(e) A closed file has only whole lines, however its process ended, and no seal is broken."""
    closed = sorted(_files(server.disk.folder, with_open=False))
    for name, file in closed:
        if not file.data.endswith(b"\n"):
            raise Violation(f"(e) the closed file {name} of {server.name} ends in the middle of a line")
    broken = broken_seal([(name.partition("-")[0], bytes(file.data)) for name, file in closed])
    if broken is not None:
        raise Violation(f"(e) a seal of {server.name} is broken: {broken!r}")


def broken_seal(files: Sequence[tuple[str, bytes]]) -> bytes | None:
    """The first broken seal of files of some boots, without the code that checks them otherwise."""
    sealed, since, boot = NO_HASH.encode(), b"", ""
    last = sealed
    recent: list[bytes] = []  # what a start may continue: a part for each file, the first one from its last seal on
    for of_boot, data in files:
        if of_boot != boot:
            last, since = _hash(sealed, b"".join(recent)) if any(recent) else sealed, b""
        boot = of_boot
        place = 0
        for seal in SEAL.finditer(data):
            if seal[1] != last or _hash(last, since + data[place : seal.start(2)]) != seal[2]:
                return seal[0]
            last = sealed = seal[2]
            since, place, recent = b"", seal.end() + 1, []
        since += data[place:]
        recent.append(data[place:])
    return None


def _hash(prev: bytes, data: bytes) -> bytes:
    return hashlib.sha256(prev + data).hexdigest()[:HASH_CHARS].encode()


def _files(folder: Folder, *, with_open: bool = True) -> list[tuple[str, File]]:
    """Every file of a journal, by its name without the marks of an open one."""
    found = []
    for name, node in folder.names.items():
        if isinstance(node, Folder):
            found += _files(node, with_open=with_open)
        elif name.endswith(".jsonl") or (with_open and name.startswith(OPEN_PREFIX)):
            found.append((name.removeprefix(OPEN_PREFIX).removesuffix(".jsonl"), node))
    return found


ENTRIES_MAX = 2_000

Routes = tuple[
    dict[str, dict[str, tuple[int, ...]]], dict[tuple[str, int], str], dict[str, tuple[object, bool]],
    dict[str, dict[str | None, object]],
]  # fmt: skip


def routes_of(tables: RouteTables) -> Routes:
    """Topics with queues, members, the switches of their groups, and mappings of static topics.

    A group without members is not in the journal.
    """
    groups = {name: group for name, group in tables.broker_addr_table.items() if group.broker_addrs}
    return (
        {topic: {name: tuple(data) for name, data in queues.items()}
         for topic, queues in tables.topic_queue_table.items()},
        {(name, broker_id): addr for name, group in groups.items() for broker_id, addr in group.broker_addrs.items()},
        {name: (group.zone_name, group.enable_acting_master) for name, group in groups.items()},
        {topic: dict(mappings) for topic, mappings in tables.topic_queue_mapping_info_table.items() if mappings},
    )  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """The routes after a change. Its records are those after ``before``, up to ``seq``."""

    boot: int
    before: int
    seq: int
    routes: Routes


class History:
    """The routes of one name server over all its processes."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._boots: list[int] = []
        self._lossy: set[int] = set()
        self._seeded: set[int] = set()

    def began(self, process: NameServerProcess) -> None:
        """The process serves: compare what it restored, which is then what it has before its first record."""
        journal = process.controller.journal
        routes = routes_of(process.controller.core.context.tables)
        doubts = [entry.doubt for entry in process.controller.core.context.tables.broker_live_table.values()]
        is_seeded = any(doubt is not None and doubt.reason is DoubtReason.SEEDED for doubt in doubts)
        if is_seeded:
            pass  # `check_seeded` compares them
        elif process.controller.configuration.restore.restore:
            self._compare(process.server, routes)
        elif any(routes):
            raise Violation(f"(e) {process.name} does not restore, and began with {routes}")
        if journal is not None:
            self._boots.append(journal.buffer._boot)
            self._entries.append(Entry(self._boots[-1], 0, 0, routes))
            if is_seeded:
                self._seeded.add(self._boots[-1])

    def changed(self, process: NameServerProcess, before: int) -> None:
        """The tables changed, by a batch of events whose records follow the record ``before``."""
        journal = process.controller.journal
        if journal is not None:
            boot = journal.buffer._boot
            routes = routes_of(process.controller.core.context.tables)
            self._entries.append(Entry(boot, before, journal.buffer.seq, routes))
            if journal.buffer.lost or journal.buffer.losses:
                self._lossy.add(boot)
            del self._entries[:-ENTRIES_MAX]

    def _compare(self, server: NameServer, routes: Routes) -> None:
        boot, seq = self._last_record(server)
        if boot is None or boot in self._lossy or (boot in self._seeded and not _has_snapshot(server, boot)):
            return
        entries = [entry for entry in self._entries if entry.boot == boot]
        last = [entry for entry in entries if entry.seq <= seq][-1:]
        if not last or any(entry.before < seq < entry.seq for entry in entries):
            return  # the disk has a part of the last change
        expected = last[0].routes
        if not expected[1]:  # without a broker nothing is restored, but mappings stay where they are
            expected = ({}, {}, {}, {})
        if routes != expected:
            raise Violation(f"(e) {server.name} restored {routes}, at record {seq} there were {expected}")

    def _last_record(self, server: NameServer) -> tuple[int | None, int]:
        """The last process with a record on the disk, and the record's number."""
        for boot in reversed(self._boots):
            found = lines_of(server, boot)
            if found:
                return boot, orjson.loads(found[-1])["seq"]
        return None, 0


def _has_snapshot(server: NameServer, boot: int) -> bool:
    """Whether the disk has a whole snapshot of that process. Without one, partly seeded routes are not restored."""
    return any(b'"end":true' in line for line in lines_of(server, boot))


def check_seeded(
    process: NameServerProcess, servers: Sequence[NameServer], changed_us: Mapping[NameServer, int]
) -> None:
    """The process serves. If no table changed while it read them, its routes are those of one of the others.

    Mappings of brokers that are gone stay where they are, and are not read.
    """
    tables = process.controller.core.context.tables
    doubts = [entry.doubt for entry in tables.broker_live_table.values()]
    if not any(doubt is not None and doubt.reason is DoubtReason.SEEDED for doubt in doubts):
        return
    others = [one.process for one in servers if one is not process.server and one.process is not None and one.serves]
    began_us = process.started_us
    were_quiet = all(changed_us.get(one.server, 0) < began_us and one.started_us < began_us for one in others)
    if not others or len(others) < len(servers) - 1 or not were_quiet:
        return
    routes = routes_of(tables)[:3]
    known = [routes_of(one.controller.core.context.tables)[:3] for one in others]
    if routes not in known:
        raise Violation(f"(e) {process.name} was seeded with {routes}, the others have {known}")
