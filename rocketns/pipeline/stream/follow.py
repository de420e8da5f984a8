"""`rocketns audit stream`: journals as they are written → batches → alerts.

Each look at the journals gives the new lines, also of files that are still being written. They are one batch: a plain
job. Its memory is a numbered version of a few Parquet tables and plain values: the places up to which the journals were
read, the open alerts, and the lines of the batch.

Spark's own streaming does not fit. Its file source reads closed files only and remembers each of them, and its stateful
operators run Python on each row (transformWithState, applyInPandasWithState) or cannot report that something did NOT
arrive. Versions work on any file system, without locks and other software.

A crash at any point is harmless. Before the version of a batch is valid, the batch had no effect, and its lines are
read again. Afterwards its lines are written again at the next start, which changes nothing where they are there.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.clocks.estimates import OBSERVED
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.jobs.doubts import may_be_off
from rocketns.pipeline.report.words.sources import known_to
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.alertlog import AlertLog, Webhook
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.following import Look, Place, events_of, look
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.posting import Alertmanager
from rocketns.pipeline.storage.results import clocks_of, held_if_small
from rocketns.pipeline.storage.statestore import StateStore
from rocketns.pipeline.stream.servers import Arriving
from rocketns.pipeline.stream.step import SCHEMAS, Limits, Line, Memory, step

Say = Callable[[str], None]

ALERTS_FILE = "alerts.jsonl"


class Following(NamedTuple):
    """The options of the command line. Durations are us. ``clocks``: the folder of a run, or by how much clocks differ
    at most."""

    journal: str
    out: str
    checkpoint: str | None
    webhook: str | None
    every: int
    limits: Limits
    once: bool
    alertmanager: str | None = None
    clocks: str | int | None = None


class Clock(NamedTuple):
    """A name server's: how far it is ahead, and by how much more it may be off, us. ``shared``: it is its
    observer's."""

    ahead: int
    off: int
    shared: bool = False


class Outlets(NamedTuple):
    """Where alerts go."""

    log: AlertLog
    hook: Webhook | None
    manager: Alertmanager | None

    def write(self, batch: int, lines: list[Line], memory: Memory) -> None:
        self.log.write(batch, lines)
        if self.hook is not None:
            self.hook.post(batch, lines)
        if self.manager is not None:
            self.manager.show(lines, memory.alerts)


def follow(spark: SparkSession, following: Following, say: Say) -> int:
    """Run until a signal, or with ``once`` until everything that is there is processed; returns the number of batches.

    BadInput if the journal is not there, or the alerts cannot be written.
    """
    out = folder_at(spark, following.out).here
    if out is None:
        said = _("--out %(out)s: this process writes the alerts itself, so it needs a folder on this machine")
        raise BadInput(said % {"out": following.out})
    journal = folder_at(spark, following.journal)
    if not journal.exists():
        raise BadInput(
            _("--journal %(journal)s does not exist: set it to the folder that holds v=1")
            % {"journal": following.journal}
        )
    outlets = Outlets(
        AlertLog(out / ALERTS_FILE),
        Webhook(following.webhook, out / "webhook-delivered", say) if following.webhook else None,
        Alertmanager(following.alertmanager, say) if following.alertmanager else None,
    )
    checkpoint = following.checkpoint or f"{following.out.rstrip('/')}/checkpoint"
    store = StateStore(spark, f"{checkpoint}/memory", SCHEMAS)
    clocks = clocks_below(spark, following.clocks, say) if isinstance(following.clocks, str) else {}
    limits = following.limits._replace(
        unnamed=half(following.clocks) if isinstance(following.clocks, int) else 0,
        off={ns: clock.off for ns, clock in clocks.items()},
        shared=frozenset(ns for ns, clock in clocks.items() if clock.shared),
    )
    ahead = {ns: clock.ahead for ns, clock in clocks.items()}
    follower = Follower(spark, journal, store, outlets, limits, say, ahead)
    shown = {"journal": following.journal, "file": out / ALERTS_FILE}
    say(_("following %(journal)s; alerts go to %(file)s") % shown)
    with signalled() as is_asked:
        while not is_asked.is_set():
            began = time.monotonic()
            if not follower.go_on() and following.once:
                break
            if not following.once and not follower.is_behind:
                is_asked.wait(max(0.0, following.every / 1e6 - (time.monotonic() - began)))
    return follower.done


class Follower:
    """The batches, one after another. ``done``: how many this process has finished; ``is_behind``: whether more is
    there than the last look read."""

    def __init__(
        self,
        spark: SparkSession,
        journal: Folder,
        store: StateStore,
        outlets: Outlets,
        limits: Limits,
        say: Say,
        ahead: Mapping[str, int],
    ) -> None:
        self._ahead = ahead
        self._spark, self._journal, self._store, self._limits = spark, journal, store, limits
        self._outlets, self._say = outlets, say
        version = store.last()
        plain = version.plain
        self._batch = version.batch
        self.memory = Memory.of(version.tables, plain["memory"] if plain else None)
        self.places = [Place(*row) for row in plain["places"]] if plain else []
        self.done = 0
        self.is_behind = False
        if plain:
            outlets.write(version.batch, plain["lines"], self.memory)

    def go_on(self) -> bool:
        """Look at the journals, and process what is new; whether there was anything."""
        arrived = look(self._journal, self.places)
        self.places, self.is_behind = arrived.places, bool(arrived.pending)
        if not arrived.texts:
            return False
        self._batch += 1
        lines = self._process(arrived)
        self._outlets.write(self._batch, lines, self.memory)
        self._store.forget(self._batch)
        self.done += 1
        for line in lines:
            self._say(f"{line['event']} {line['kind']} {line['alert']}: {line['text']}")
        return True

    def _process(self, arrived: Look) -> list[Line]:
        """The lines of the batch, once its version is valid."""
        batch, arriving = self._batch, Arriving(arrived.pending, arrived.opened)
        self._store.begin(batch)
        events = by_clocks(events_of(self._spark, arrived.texts), self._ahead).persist()
        try:
            keep = partial(self._store.keep, batch)
            lines, self.memory = step(self.memory, events, self._limits, keep, arriving, held_if_small)
            plain: dict[str, Any] = {"memory": self.memory.plain(), "places": arrived.places, "lines": lines}
            self._store.seal(batch, plain)
        finally:
            events.unpersist()
        return lines


def clocks_below(spark: SparkSession, out: str, say: Say) -> dict[str, Clock]:
    """By name server, its clock on the last day of the run below ``out``. BadInput if there is no run."""
    clocks = {row["ns"]: row for row in clocks_of(spark, folder_at(spark, out))}
    for ns, row in sorted(clocks.items()):
        known = known_to(row["method"], row["uncertainty"])
        shown = {"ns": ns, "off": f"{row['offset'] / 1e6:+g}", "known": known}
        say(_("the clock of %(ns)s counts as %(off)s s off (known %(known)s)") % shown)
    return {
        ns: Clock(row["offset"], may_be_off(row["method"], row["uncertainty"]), row["method"] == OBSERVED)
        for ns, row in clocks.items()
    }


def half(apart: int) -> int:
    """By how much each clock may be off, if no two differ by more than ``apart`` us."""
    return (apart + 1) // 2


def by_clocks(events: DataFrame, ahead: Mapping[str, int]) -> DataFrame:
    """The events with ``ts`` and ``since`` as the reference's clock shows them."""
    known = [F.when(F.col("ns") == ns, F.lit(offset)) for ns, offset in ahead.items() if offset]
    if not known:
        return events
    offset = F.coalesce(*known, F.lit(0))
    return events.withColumns({name: F.col(name) - offset for name in ("ts", "since")})


@contextmanager
def signalled() -> Iterator[threading.Event]:
    """Set by SIGTERM and Ctrl-C; a second one is a KeyboardInterrupt.

    The handler may interrupt a Py4J call, so it must not call Java itself.
    """
    is_asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        if is_asked.is_set():
            raise KeyboardInterrupt
        is_asked.set()

    before: dict[signal.Signals, Any] = {
        number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
