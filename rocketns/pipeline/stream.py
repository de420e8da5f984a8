"""`rocketns audit stream`: journal files as they arrive → batches → alerts.

Each batch is a plain job in foreachBatch whose memory is a numbered version of a few Parquet tables. That was chosen
over Spark's stateful operators, because those that could hold it (transformWithState, applyInPandasWithState) run
Python on each row, and the rest (windows, joins, dropDuplicates) cannot say that something did NOT come. Versions on
any file system need no lock and no other software, and a batch that is replayed makes its version again from the one
before: the same.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rocketns.journal.record import VERSION
from rocketns.pipeline.alerting.step import SCHEMAS, Limits, Memory, step
from rocketns.pipeline.alertlog import AlertLog, Webhook
from rocketns.pipeline.answers import FILES
from rocketns.pipeline.errors import BadInput
from rocketns.pipeline.ingest import judged, records
from rocketns.pipeline.paths import Folder
from rocketns.pipeline.statestore import StateStore

Say = Callable[[str], None]

ALERTS_FILE = "alerts.jsonl"


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
    query = start(spark, following, checkpoint, batch)
    say(f"following {following.journal}; alerts go to {out / ALERTS_FILE}")
    with stopping(query):
        query.awaitTermination()
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


@contextmanager
def stopping(query: StreamingQuery) -> Iterator[None]:
    """SIGTERM and Ctrl-C end the query after the batch it is in."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        query.stop()

    before: dict[signal.Signals, Any] = {
        number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
