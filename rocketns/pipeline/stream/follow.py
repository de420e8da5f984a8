"""`rocketns audit stream`: journal files as they arrive → batches → alerts.

Each batch is a plain job in foreachBatch. Its memory is a numbered version of a few Parquet tables. Spark's stateful
operators do not fit: those that could hold the memory (transformWithState, applyInPandasWithState) run Python on each
row, and the others (windows, joins, dropDuplicates) cannot report that something did NOT arrive. Versions work on any
file system, without locks and other software. A replayed batch makes its version again from the one before, with the
same result.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.storage.alertlog import AlertLog, Webhook
from rocketns.pipeline.storage.events.lines import JOURNAL_FILES, judged, records
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.statestore import StateStore
from rocketns.pipeline.stream.step import SCHEMAS, Limits, Memory, step

Say = Callable[[str], None]

ALERTS_FILE = "alerts.jsonl"
LOOK_EVERY_S = 1


class Following(NamedTuple):
    """The options of the command line. Durations are us."""

    journal: str
    out: str
    checkpoint: str | None
    webhook: str | None
    every: int
    limits: Limits
    once: bool


def follow(spark: SparkSession, following: Following, say: Say) -> int:
    """Run until a signal, or with ``once`` until every existing file is processed; returns the number of batches."""
    out = Folder(spark, following.out).local()
    if out is None:
        raise BadInput(
            f"--out {following.out}: this process writes the alerts itself, so it needs a folder on this machine"
        )
    journal = Folder(spark, following.journal)
    if not journal.exists():
        raise BadInput(f"--journal {following.journal} does not exist: set it to the folder that holds v=1")
    checkpoint = following.checkpoint or f"{following.out.rstrip('/')}/checkpoint"
    log = AlertLog(out / ALERTS_FILE)
    hook = Webhook(following.webhook, out / "webhook-delivered", say) if following.webhook else None
    store = StateStore(spark, f"{checkpoint}/memory", SCHEMAS)
    batch = Batch(store, log, hook, following.limits, say)
    with signalled() as is_asked:
        query = start(spark, following, checkpoint, batch)
        say(f"following {following.journal}; alerts go to {out / ALERTS_FILE}")
        wait(query, is_asked, say)
    return batch.done


def start(
    spark: SparkSession, following: Following, checkpoint: str, work: Callable[[DataFrame, int], None]
) -> StreamingQuery:
    """The running query."""
    base = f"{following.journal.rstrip('/')}/v={VERSION}"
    read = (
        records(spark.readStream, base)
        .option("maxFileAge", "36500d")  # also read files older than the newest: journals may be copied
        .json(f"{base}/{JOURNAL_FILES}")
    )
    writer = read.writeStream.foreachBatch(work).option("checkpointLocation", f"{checkpoint}/query")
    if following.once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(following.every // 1000, 100)} milliseconds").start()


class Batch:
    """The work on one batch: memory before + new events → alerts, memory after. A crash at any point is harmless: the
    memory of a batch becomes valid before its alerts are written, and Spark counts the batch as done after both."""

    def __init__(self, store: StateStore, log: AlertLog, hook: Webhook | None, limits: Limits, say: Say) -> None:
        self._store, self._log, self._hook, self._limits, self._say = store, log, hook, limits, say
        self.done = 0

    def __call__(self, read: DataFrame, number: int) -> None:
        events = judged(read).persist()
        try:
            self._store.begin(number)
            memory = Memory.of(*self._store.before(number))
            told, after = step(memory, events, self._limits, partial(self._store.keep, number))
            self._store.seal(number, after.plain())
        finally:
            events.unpersist()
        self._log.write(number, told)
        if self._hook is not None:
            self._hook.post(number, told)
        self._store.forget(number)
        self.done += 1
        for line in told:
            self._say(f"{line['event']} {line['kind']} {line['alert']}: {line['text']}")


def wait(query: StreamingQuery, is_asked: threading.Event, say: Say) -> None:
    """Wait until the query ends. After a signal, stop it at the end of the current batch: Spark would survive a stop in
    the middle, but print pages about it."""
    while not is_asked.is_set():
        if query.awaitTermination(LOOK_EVERY_S):
            return
    say("stopping after the current batch; a second signal stops at once")
    while query.status["isTriggerActive"] and not query.awaitTermination(LOOK_EVERY_S):
        pass
    query.stop()


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
