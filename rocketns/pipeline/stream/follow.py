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
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import Say, _
from rocketns.pipeline.storage.arrow import Rows, events_of, rows_of
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.stream.memory import Arriving
from rocketns.pipeline.stream.outlets import AlertLog, Alertmanager, Line, Webhook
from rocketns.pipeline.stream.reading import JournalOffset, JournalPoll, look
from rocketns.pipeline.stream.statestore import StateStore
from rocketns.pipeline.stream.step import SCHEMAS, Memory, New, StreamLimits, step

ALERTS_FILE = "alerts.jsonl"


class Following(NamedTuple):
    """The options of the command line. Durations are us."""

    journal: str
    out: str
    checkpoint: str | None
    webhook: str | None
    every: int
    limits: StreamLimits
    once: bool
    alertmanager: str | None = None


def follow(spark: SparkSession, following: Following, say: Say) -> int:
    """Run until a signal, or with ``once`` until everything that is there is processed; returns the number of batches.

    BadInput if the journal is not there, or the alerts cannot be written.
    """
    follower = Follower(spark, following, say)
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

    def __init__(self, spark: SparkSession, following: Following, say: Say) -> None:
        out, journal = folder_at(spark, following.out).here, folder_at(spark, following.journal)
        if out is None:
            said = _("--out %(out)s: this process writes the alerts itself, so it needs a folder on this machine")
            raise BadInput(said % {"out": following.out})
        if not journal.exists():
            said = _("--journal %(journal)s does not exist: set it to the folder that holds v=1")
            raise BadInput(said % {"journal": following.journal})
        self._spark, self._journal, self._limits, self._say = spark, journal, following.limits, say
        self._outlets: list[AlertLog | Webhook | Alertmanager] = [AlertLog(out / ALERTS_FILE)]
        if following.webhook:
            self._outlets.append(Webhook(following.webhook, say))
        if following.alertmanager:
            self._outlets.append(Alertmanager(following.alertmanager, say))
        checkpoint = following.checkpoint or f"{following.out.rstrip('/')}/checkpoint"
        self._store = StateStore(spark, f"{checkpoint}/memory", SCHEMAS)
        self._batch, tables, plain = self._store.last()
        self.memory = Memory.of(tables, plain["memory"] if plain else None)
        self.offsets = [JournalOffset(*row) for row in plain["offsets"]] if plain else []
        self.done = 0
        self.is_behind = False
        shown = {"journal": following.journal, "file": out / ALERTS_FILE}
        say(_("following %(journal)s; alerts go to %(file)s") % shown)
        if plain:
            self._show(plain["lines"])

    def go_on(self) -> bool:
        """Look at the journals, and process what is new; whether there was anything."""
        arrived = look(self._journal, self.offsets)
        self.offsets, self.is_behind = arrived.offsets, bool(arrived.pending)
        if not arrived.texts:
            return False
        self._batch += 1
        lines = self._process(arrived)
        self._show(lines)
        self._store.forget(self._batch)
        self.done += 1
        for line in lines:
            self._say(f"{line['event']} {line['kind']} {line['alert']}: {line['text']}")
        return True

    def _show(self, lines: list[Line]) -> None:
        for outlet in self._outlets:
            outlet.show(self._batch, lines, self.memory.alerts)

    def _process(self, arrived: JournalPoll) -> list[Line]:
        """The lines of the batch, once its version is valid."""
        batch, arriving = self._batch, Arriving(arrived.pending, arrived.opened)
        self._store.begin(batch)
        read = [(text.ns, text.day, rows_of(text.data)) for text in arrived.texts]
        events = events_of(self._spark, read).persist()
        try:
            store = partial(self._store.write, batch)
            new = New(events, losses_of(read), arriving)
            lines, self.memory = step(self.memory, new, self._limits, store)
            plain: dict[str, Any] = {"memory": self.memory.plain(), "offsets": arrived.offsets, "lines": lines}
            self._store.seal(batch, plain)
        finally:
            events.unpersist()
        return lines


def losses_of(read: Iterable[tuple[str, str, Rows]]) -> list[Line]:
    """ns, lost, corrupt: how many records name servers dropped, and how many lines are none."""
    lost, corrupt = Counter[str](), Counter[str]()
    for ns, _day, rows in read:
        lost[ns] += pc.sum(rows.records["lost"]).as_py() or 0
        corrupt[ns] += rows.corrupt
    return [{"ns": ns, "lost": lost[ns], "corrupt": corrupt[ns]} for ns in sorted(lost)]


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
