"""Invariant (h): the audit over the journals of a seed finds what happened in it, and nothing else.

What happens is written down from processes and route tables, never from a journal. When the seed is over, every name
server is stopped, and its disk's journal is written to a real folder. The audit of it are the twins of its jobs in
DuckDB, which another test compares with Spark. Wall clocks are not moved in these runs: the audit corrects each name
server's clock by one offset. Times are epoch us.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from rocketns.pipeline.contract.terms import MIN_WINDOW_US, SILENT_AFTER_US
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables
from tests.pipeline.duck import divergence, ingest, state
from tests.simulation.disk import Folder
from tests.simulation.filesystem import FileSystem, interposed
from tests.simulation.nameserver import NameServerProcess, substituted
from tests.simulation.routes import NO_STALL_US, READ_WITHIN_US, SECOND_US, STALL_US
from tests.simulation.simulation import Case, Errors, Simulation, listening
from tests.simulation.world import START_EPOCH_MS, Violation

Row = Mapping[str, Any]
MS_US = 1_000
WRITTEN_WITHIN_US = 15 * SECOND_US
STOPPED_WITHIN_S = 60
# From the last record to the end of the process.
STOPS_WITHIN_US = 5 * SECOND_US
# A stall may have begun with the job before the stop. Its record says at most how long it was.
STALL_MORE_US = 1_100_000
TABLES = ("ns_uptime", "stalls", "broker_intervals", "topic_intervals", "key_windows")


class View(NamedTuple):
    """What the tables have from ``us`` on: (cluster, group, id, address) → True and (topic, group) → queues."""

    us: int
    members: Mapping[Any, Hashable]
    queues: Mapping[Any, Hashable]


@dataclass
class Run:
    """One process of a name server that has a journal, from the moment on in which it serves.

    ``shown_by``: the record by which its journal shows what it began with, None if that took longer than its start.
    ``ends``: ``stop``, or ``lost`` without a record of its end; both if it was killed while it stopped, or stopped
    while its disk took nothing. ``stops``: from when until when it did not run. ``synced``: records on the disk.
    ``t1``, ``t2``: for which time the audit knows its state.
    """

    ns: str
    boot: int
    begun_us: int
    shown_by: int | None
    views: list[View] = field(default_factory=list)
    stops: list[tuple[int, int]] = field(default_factory=list)
    ended_us: int = 0
    ends: tuple[str, ...] = ()
    is_lossy: bool = False
    synced: int = 0
    t1: int = 0
    t2: int = 0


def epoch_us(now_us: int) -> int:
    """The wall clock of every host at a moment of virtual time, as a journal shows it."""
    return (START_EPOCH_MS + now_us // 1000) * 1000


def view_of(tables: RouteTables, us: int) -> View:
    groups = tables.broker_addr_table.items()
    members = {(group.cluster, name, *one): True for name, group in groups for one in group.broker_addrs.items()}
    queues = {(topic, name): (data.read_queue_nums, data.write_queue_nums, data.perm)
              for topic, brokers in tables.topic_queue_table.items() for name, data in brokers.items()}  # fmt: skip
    return View(us, members, queues)


class AuditedSimulation(Simulation):
    """``runs``: what happened, in the order of their starts. All name servers are stopped at the end."""

    def __init__(self, case: Case, files: FileSystem, errors: Errors) -> None:
        self.runs: list[Run] = []
        self._open: dict[NameServerProcess, Run] = {}
        self._stopped_us: dict[NameServerProcess, int] = {}
        super().__init__(case, files, errors)
        for server in self.servers:
            server.begun = self._begun

    def _begun(self, process: NameServerProcess) -> None:
        """Its journal began, and it serves."""
        controller, now_us = process.controller, epoch_us(self.world.now_us)
        assert controller.journal is not None
        buffer = controller.journal.buffer
        run = Run(controller.journal.ns, buffer._boot, now_us, None if controller.journal._work else buffer.seq)
        run.views.append(view_of(controller.core.context.tables, now_us))
        self._open[process] = run
        self.runs.append(run)

    def _conditions_changed(self) -> None:
        super()._conditions_changed()
        for process, run in self._open.items():
            now_us = epoch_us(self.world.now_us)
            if process.is_stopped:
                self._stopped_us.setdefault(process, now_us)
            elif process in self._stopped_us:
                run.stops.append((self._stopped_us.pop(process), now_us))

    def _tables_changed(self, process: NameServerProcess, events: list[Event], before: int) -> None:
        if process in self._open:
            view = view_of(process.controller.core.context.tables, epoch_us(self.world.now_us))
            self._open[process].views.append(view)
        super()._tables_changed(process, events, before)

    def _ended(self, process: NameServerProcess) -> None:
        run, journal = self._open.pop(process, None), process.controller.journal
        if run is not None and journal is not None and process.journal is not None:
            run.ended_us, run.synced = epoch_us(self.world.now_us), process.journal.synced
            is_sure = process.has_stopped and run.synced == len(process.journal.lines)
            run.ends = ("stop",) if is_sure else ("stop", "lost") if process.is_stopping else ("lost",)
            run.is_lossy = bool(journal.buffer.lost or journal.buffer.losses)
        super()._ended(process)

    def run(self) -> None:
        super().run()
        for server in self.servers:
            server.disk.is_full = server.disk.is_broken = False
            server.disk.crash_in, server.slow_us = None, 0
            server.boot()
            if server.process is not None and server.process.is_stopped:
                server.process.go_on()
            server.start()
        self._conditions_changed()
        self.world.run_until(self.world.now_us + WRITTEN_WITHIN_US)
        for _ in range(STOPPED_WITHIN_S):
            alive = [one for one in self.servers if one.process is not None and one.process.is_alive]
            for server in alive:
                server.stop()
            if not alive:
                return
            self.world.run_until(self.world.now_us + SECOND_US)
        raise Violation("a name server does not stop")


def run_into(case: Case, folder: Path) -> list[Run]:
    """Run a case, and write its journals to the folder. `Violation` where another invariant does not hold."""
    files, errors = FileSystem(), Errors()
    with interposed(files), listening(errors):
        simulation = AuditedSimulation(case, files, errors)
        with substituted(simulation.world):
            simulation.run()
    for server in simulation.servers:
        if isinstance(node := server.disk.folder.names.get("journal"), Folder):
            node.save(folder)
    return simulation.runs


def audit(journal: Path) -> dict[str, list[Row]]:
    """Everything from the first record to the last one, by clocks that are known to be right."""
    with duckdb.connect() as db:
        db.execute("set threads = 1")
        db.execute(f"create temp table all_events as {ingest.select_events(journal)}")
        found = db.execute("select min(ts), max(ts) + 1 from all_events").fetchone()
        assert found is not None
        t0, t1 = found
        state.prepare(db, t0, t1, SILENT_AFTER_US)
        db.execute("create temp view ns_uptime as from uptime")
        db.execute("create temp view stalls as select ns, boot, ts, ms from all_events where ev = 'stall'")
        state.broker_intervals(db)
        state.topic_intervals(db)
        state.topic_doubts(db)
        db.execute(divergence.EXACT_CLOCKS)
        divergence.key_windows(db, MIN_WINDOW_US)
        return {name: _rows(db.execute(f"from {name}")) for name in TABLES}


def _rows(answer: duckdb.DuckDBPyConnection) -> list[Row]:
    assert answer.description is not None
    columns = [column[0] for column in answer.description]
    return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]


class Span(NamedTuple):
    """A name server had the key with the value, in [t1, t2)."""

    ns: str
    key: Hashable
    value: Hashable
    t1: int
    t2: int


def differences(runs: Sequence[Run], found: Mapping[str, Sequence[Row]]) -> list[str]:
    """Between what happened and what the audit found, as a sentence each."""
    known, wrong = _boots(runs, found["ns_uptime"])
    wrong += _stalls(runs, found["stalls"])
    lossless = [run for run in known if not run.is_lossy]
    for shown, table in (("members", "broker_intervals"), ("queues", "topic_intervals")):
        rows = [_span(row, shown) for row in found[table] if _run_of(row, lossless)]
        wrong += _apart(shown, joined(span for run in lossless for span in spans(run, shown)), joined(rows))
    wanted = windows(known, [span for run in known for span in spans(run, "queues")])
    certain = [
        ((row["topic"], row["broker"]), row["t1"], row["t2"]) for row in found["key_windows"] if not row["doubt"]
    ]
    if len(lossless) == len(known):
        return [*wrong, *_apart("windows", wanted, certain)]
    return wrong + [f"windows: invented, though it is called certain: {key} {t1} {t2}" for key, t1, t2 in certain
                    if not any(key == of and since <= t1 and t2 <= until for of, since, until in wanted)]  # fmt: skip


def _boots(runs: Iterable[Run], uptime: Iterable[Row]) -> tuple[list[Run], list[str]]:
    """The runs of which the audit knows, and what is wrong with that."""
    rows = {(row["ns"], row["boot"]): row for row in uptime}
    known, wrong = [], []
    for run in runs:
        row = rows.pop((run.ns, run.boot), None)
        if row is None:
            wrong += [f"uptime: missed: {run}"] if run.shown_by is not None and run.synced > run.shown_by else []
            continue
        run.t1, run.t2 = row["t1"], row["t2"]
        known.append(run)
        is_late = run.t1 > run.begun_us and run.shown_by is not None
        is_early = row["end_cause"] == "stop" and run.ended_us - run.t2 > STOPS_WITHIN_US
        if run.t1 < run.begun_us or is_late or is_early or run.t2 > run.ended_us or row["end_cause"] not in run.ends:
            wrong.append(f"uptime: {run.ns} ran from {run.begun_us} to {run.ended_us}, {run.ends}: {row}")
    return known, wrong + [f"uptime: nobody ran: {row}" for row in rows.values()]


def _stalls(runs: Iterable[Run], found: Sequence[Row]) -> Iterator[str]:
    """Each stop that is long enough has one record; a shorter stop may have one."""
    rows = list(found)
    for run in runs:
        for start, end in run.stops:
            mine = [row for row in rows if _is_stall(row, run, start, end)]
            rows = [row for row in rows if row not in mine]
            is_seen = end < run.t2 and not run.is_lossy and any(view.members for view in run.views if view.us < start)
            if len(mine) > 1 or (not mine and is_seen and end - start > NO_STALL_US):
                yield f"stalls: {run.ns} did not run from {start} to {end}, the audit has {mine}"
    yield from (f"stalls: nobody was stopped: {row}" for row in rows)


def _is_stall(row: Row, run: Run, start: int, end: int) -> bool:
    is_long = end - start >= STALL_US and end - start <= row["ms"] * MS_US + MS_US <= end - start + STALL_MORE_US
    return bool((row["ns"], row["boot"]) == (run.ns, run.boot) and 0 <= row["ts"] - end <= READ_WITHIN_US and is_long)


def _run_of(row: Row, runs: Iterable[Run]) -> bool:
    return any(row["ns"] == run.ns and run.t1 <= row["t1"] < run.t2 for run in runs)


def _span(row: Row, shown: str) -> Span:
    if shown == "members":
        return Span(row["ns"], (row["cluster"], row["broker"], row["bid"], row["addr"]), True, row["t1"], row["t2"])
    return Span(row["ns"], (row["topic"], row["broker"]), (row["r"], row["w"], row["p"]), row["t1"], row["t2"])


def spans(run: Run, shown: str) -> Iterator[Span]:
    """Every stretch in which a key has one value. Of changes in one ms only the last counts."""
    views = {max(view.us, run.t1): getattr(view, shown) for view in run.views if view.us < run.t2} | {run.t2: {}}
    since: dict[Hashable, tuple[Hashable, int]] = {}
    for us, now in sorted(views.items()):
        for key, (value, t1) in list(since.items()):
            if now.get(key) != value:
                yield Span(run.ns, key, value, t1, us)
                del since[key]
        since |= {key: (value, us) for key, value in now.items() if key not in since}


def joined(rows: Iterable[Span]) -> list[Span]:
    """Stretches that touch and have the same value as one."""
    found: list[Span] = []
    for row in sorted(rows, key=lambda one: (one.ns, repr(one.key), repr(one.value), one.t1)):
        if found and found[-1][:3] == row[:3] and found[-1].t2 == row.t1:
            found[-1] = found[-1]._replace(t2=row.t2)
        else:
            found.append(row)
    return found


def windows(known: Sequence[Run], rows: Iterable[Span]) -> list[tuple[Hashable, int, int]]:
    """Where the name servers whose state is known differ about a key, for long enough: key, from, until."""
    edges = {run.t1 for run in known} | {run.t2 for run in known}
    of_key: defaultdict[Hashable, list[Span]] = defaultdict(list)
    for row in rows:
        of_key[row.key].append(row)
    found = []
    for key, mine in of_key.items():
        since: int | None = None
        for us in sorted(edges | {row.t1 for row in mine} | {row.t2 for row in mine}):
            has = {row.ns: row.value for row in mine if row.t1 <= us < row.t2}
            differ = len({has.get(run.ns) for run in known if run.t1 <= us < run.t2}) > 1
            if differ and since is None:
                since = us
            elif not differ and since is not None:
                found += [(key, since, us)] if us - since >= MIN_WINDOW_US else []
                since = None
    return found


def _apart(name: str, wanted: Iterable[Any], shown: Iterable[Any]) -> Iterator[str]:
    wanted, shown = Counter(wanted), Counter(shown)
    yield from (f"{name}: missed: {one}" for one in wanted - shown)
    yield from (f"{name}: invented: {one}" for one in shown - wanted)


def judge_all(seeds: range) -> int:
    """How many seeds there are whose audit is wrong; they are printed, and how many rows were compared."""
    wrong, compared = 0, Counter(dict.fromkeys(TABLES, 0))
    for seed in seeds:
        case = Case(seed)
        moved = {number for number, fault in enumerate(case.plan()[1]) if fault.kind == "move the wall clock"}
        with tempfile.TemporaryDirectory(prefix="rocketns-simulated-") as folder:
            try:
                runs = run_into(replace(case, without=frozenset(moved)), Path(folder))
                found = audit(Path(folder)) if any(run.synced for run in runs) else {name: [] for name in TABLES}
                differ = [f"(h) {one}" for one in differences(runs, found)]
                compared.update({name: len(rows) for name, rows in found.items()})
            except Violation as violation:
                differ = [str(violation)]
        if differ:
            wrong += 1
            print(f"seed {seed}, {len(differ)} differences:", *differ[:5], sep="\n", flush=True)
    print(f"{len(seeds)} audited seeds, {wrong} of them with a difference; rows compared: {dict(compared)}")
    return wrong
