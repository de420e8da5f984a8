"""`rocketns audit stream`: journal files as they arrive → batches → alerts.

Each batch is a plain job in foreachBatch whose memory is a numbered version of a few Parquet tables. That was chosen
over Spark's stateful operators, because those that could hold it (transformWithState, applyInPandasWithState) run
Python on each row, and the rest (windows, joins, dropDuplicates) cannot say that something did NOT come. Versions on
any file system need no lock and no other software, and a batch that is replayed makes its version again from the one
before: the same.
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
from rocketns.pipeline.batch.answers import FILES
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.storage.alertlog import AlertLog, Webhook
from rocketns.pipeline.storage.ingest import judged, records
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.statestore import StateStore
from rocketns.pipeline.stream.step import SCHEMAS, Limits, Memory, step

Say = Callable[[str], None]

ALERTS_FILE = "alerts.jsonl"
LOOK_EVERY_S = 1


class Following(NamedTuple):
    """What the command line says. Durations in us."""

    journal: str
    out: str
    checkpoint: str | None
    webhook: str | None
    every: int
    limits: Limits
    once: bool


def follow(spark: SparkSession, following: Following, say: Say) -> int:
    """Run until a signal, or with ``once`` until every file that is there is worked through; batches worked through."""
    out = Folder(spark, following.out).local()
    if out is None:
        raise BadInput(
            f"--out {following.out}: alerts are written by this process, so a folder of this machine is wanted"
        )
    journal = Folder(spark, following.journal)
    if not journal.exists():
        raise BadInput(f"--journal {following.journal} is not there: point it at the folder that holds v=1")
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
        .option("maxFileAge", "36500d")  # what is older than the newest file is read too: journals may be copied
        .json(f"{base}/{FILES}")
    )
    writer = read.writeStream.foreachBatch(work).option("checkpointLocation", f"{checkpoint}/query")
    if following.once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{max(following.every // 1000, 100)} milliseconds").start()


class Batch:
    """The work on one batch: memory before + what arrived → alerts, memory after. The order makes a crash harmless: the
    memory of a batch counts before its alerts are written, and the batch is done for Spark after both."""

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
    """Until the query ends; once that is asked for, after the batch that it is in. A batch that is cut short would be
    right as well, but Spark prints pages about it."""
    while not is_asked.is_set():
        if query.awaitTermination(LOOK_EVERY_S):
            return
    say("stopping after the batch that it is in; once more stops at once")
    while query.status["isTriggerActive"] and not query.awaitTermination(LOOK_EVERY_S):
        pass
    query.stop()


@contextmanager
def signalled() -> Iterator[threading.Event]:
    """Set by SIGTERM and Ctrl-C; a second one is a KeyboardInterrupt.

    The handler must not talk to the Java process: it may come in the middle of such a talk.
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
