"""The journal of one name server, as control calls it. No call waits, and no call raises an error."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rocketns.config.journal import JournalConfig
from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer, BufferLimits
from rocketns.journal.effects import Effects
from rocketns.journal.lookups import DrainedRow, LookupCounters, LookupRow
from rocketns.journal.members import adopt
from rocketns.journal.segments import Store
from rocketns.journal.snapshot import KvTables, SnapshotWriter, kv_items
from rocketns.journal.writer import Later, Retention, Writer, WriteWaiters
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables

log = logging.getLogger("rocketns.journal")

HOUR_MS = 3_600_000
SNAPSHOT_PAUSE_MS = 60_000
ALIVE_AFTER_MS = 60_000
ALIVE = encoding.columns("alive", {})
# Work that can wait (snapshots, rows of lookups) is done in steps of about a millisecond. Between two steps control
# has the thread for four milliseconds.
STEP_ENTRIES = 1_000
STEP_BYTES = 256 * 1024
STEP_PAUSE_S = 0.004
STOP_WITHIN_S = 2.0
# Topics of all brokers that are written in half a second.
LAST_SNAPSHOT_ENTRIES_MAX = 500_000


class Journal:
    """`start` is called before the server takes requests, `tick` every ``journalFsyncMs``.

    ``lookup_sources`` are counters of lookups kept elsewhere: each is drained at the end of an interval, see
    `LookupCounters.merge`. ``observes``: the tables are those of another name server, which is watched; ``ends`` gives
    what the last record of its snapshots says.
    """

    def __init__(
        self, config: JournalConfig, ns: str, tables: RouteTables, kv: KvTables, epoch_ms: int,
        lookup_sources: Sequence[Callable[[], Iterable[DrainedRow]]] = (), *, observes: bool = False,
        ends: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:  # fmt: skip
        store = Store(Path(config.journal_path), ns)
        limits = BufferLimits(
            config.journal_buffer_bytes, config.journal_rotation_bytes, config.journal_rotation_seconds * 1000
        )
        self.writer = Writer(store, Retention(config.journal_retention_days, config.journal_retention_bytes))
        self.buffer = Buffer(self.writer, limits, ns, store.free_boot(epoch_ms))
        self.lookups = LookupCounters(config.journal_lookup_keys_max, by_client=config.journal_lookup_clients)
        self.counts_lookups = config.journal_lookup_seconds > 0
        self.written = WriteWaiters(self.writer)
        self._effects = Effects(tables, self.buffer)
        self._deferred = self._effects.deferred
        self._tables = tables
        self._kv = kv
        self._ends = ends
        self._lookup_sources = lookup_sources
        self._lookup_interval_ms = config.journal_lookup_seconds * 1000
        self._lookups_since_ms = epoch_ms
        self._snapshot_bytes_min = config.journal_snapshot_bytes
        self._snapshot = self._new_snapshot()
        self._snapshot_ms, self._snapshot_at = epoch_ms, 0
        self._losses_mended = 0
        self._records_seen = 0
        self._quiet_since_ms = epoch_ms
        self._work: deque[Iterator[int]] = deque()
        self._step_is_due = False
        self._epoch_ms = epoch_ms
        self._failed = False
        self.ns = ns
        self._observes = observes
        self._whole_at: int | None = None
        self.is_started = False

    def start(
        self, later: Later, call_soon: Callable[[Callable[[], None]], object], epoch_ms: int,
        filled: DoubtReason | None = None,
    ) -> None:  # fmt: skip
        """Start the thread and let it open the first file. ``filled``: the tables are filled already, and from where.

        ``epoch_ms`` is now: to fill the tables may have taken a while. ``later(seconds, step)`` calls ``step`` on
        control's thread after that time. ``call_soon`` may be called on any thread, and calls on control's.
        RuntimeError where control has ended.
        """
        self.written.later = later
        self.is_started = True
        self._epoch_ms = epoch_ms
        self.writer.start(partial(self._note_written, call_soon))
        self.buffer.at(self._epoch_ms)
        self.buffer.put(encoding.columns("start", {"ns": self.ns, "restored": filled and True,
                                                   "seeded": filled is DoubtReason.SEEDED or None,
                                                   "observed": self._observes or None}))  # fmt: skip
        if filled or self._observes:
            adopt(self._tables, self._effects.members)
            self._add_snapshot()
        self._work.append(self._write_loaded_kv())
        self._step()  # at once, so that a broker that leaves right now has been recorded before
        self.buffer.flush(self._epoch_ms)

    def _note_written(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """The writer's thread."""
        if self.written.is_wanted:
            with suppress(RuntimeError):
                call_soon(self.written.note)

    def _add_snapshot(self) -> None:
        """Let a snapshot be written, in steps."""
        self._snapshot, self._snapshot_at = self._new_snapshot(), self.buffer.bytes
        self._work.append(self._write_snapshot(self._snapshot))

    def _write_snapshot(self, snapshot: SnapshotWriter) -> Iterator[int]:
        """Write a snapshot, and note whether all of it was taken."""
        lost = self.buffer.lost_total
        yield from snapshot
        if lost == self.buffer.lost_total:
            self._whole_at = lost

    def _new_snapshot(self) -> SnapshotWriter:
        return SnapshotWriter(self._tables, self._effects.members, self._kv, self.buffer, self._ends)

    def _write_loaded_kv(self) -> Iterator[int]:
        for item in kv_items(self._kv):
            self.buffer.put(encoding.columns("kv", item))
            yield 1

    def record(self, events: list[Event], now: tuple[int, int], since_ms: int | None = None) -> bool:
        """Write the records of one request or batch. The tables are read as it left them.

        ``now``: on the clock by which brokers expire, and epoch ms. ``since_ms``: of an observer, which knows that the
        changes happened after it and not later than ``now``.
        Whether a change of routes is being written. Then the answer should wait for `WriteWaiters.when_written`, so
        that the change outlives the process.
        """
        now_ms, self._epoch_ms = now
        try:
            self.buffer.at(self._epoch_ms, since_ms)
            changed = self._effects.write(events, now_ms)
            if self._deferred.brokers:
                self._want_step()
            return changed and self.buffer.hand_over_soon()
        except Exception:
            self._note_failure()
            return False

    def _note_failure(self) -> None:
        """Log the first failure. The record counts as lost."""
        self.buffer.lose("it failed")
        if not self._failed:
            self._failed = True
            log.exception("a record of the journal could not be made; further failures are counted, not logged")

    def tick(self, epoch_ms: int) -> None:
        """Hand the buffer to the writer, and begin the work that is due."""
        self._epoch_ms = epoch_ms
        if not self._work:  # while the disk is stuck, work must not pile up
            if self.counts_lookups and not 0 <= epoch_ms - self._lookups_since_ms < self._lookup_interval_ms:
                self._work.append(self._write_lookups(*self._drain_lookups(epoch_ms)))
            self._begin_snapshot(epoch_ms)
        self._want_step()
        self._put_alive(epoch_ms)
        self.buffer.flush(epoch_ms)

    def _put_alive(self, epoch_ms: int) -> None:
        """A sign of life where nothing was written for a minute: at most 110 kB a day, and nothing on a busy server."""
        is_quiet = self.buffer.seq - self.buffer.seals == self._records_seen
        if is_quiet and 0 <= epoch_ms - self._quiet_since_ms < ALIVE_AFTER_MS:
            return
        if is_quiet and not self.buffer.is_half_full:
            self.buffer.at(epoch_ms)
            self.buffer.put(ALIVE)
        self._records_seen, self._quiet_since_ms = self.buffer.seq - self.buffer.seals, epoch_ms

    def _begin_snapshot(self, epoch_ms: int) -> None:
        since_ms = epoch_ms - self._snapshot_ms
        is_after_loss = self.buffer.losses != self._losses_mended and not 0 <= since_ms < SNAPSHOT_PAUSE_MS
        # A start would read many records after the last snapshot. At most half of a journal is snapshots.
        last, written = self._snapshot.bytes, self.buffer.bytes - self._snapshot_at
        is_much_to_read = written - last >= max(last, self._snapshot_bytes_min)
        if epoch_ms // HOUR_MS != self._snapshot_ms // HOUR_MS or is_after_loss or is_much_to_read:
            self._snapshot_ms = epoch_ms
            self._losses_mended = self.buffer.losses
            self._add_snapshot()

    def _want_step(self) -> None:
        if (self._work or self._deferred.brokers) and not self._step_is_due and self.buffer.has_room_for_large:
            self._step_is_due = True
            self.written.later(STEP_PAUSE_S, self._step)

    def _step(self) -> None:
        """Do a bounded piece of the waiting work. While the writer is behind, the work waits for the next tick."""
        self._step_is_due = False
        try:
            self.buffer.at(self._epoch_ms)
            entries, bytes_max = 0, self.buffer.bytes + STEP_BYTES
            while entries < STEP_ENTRIES and self.buffer.bytes < bytes_max and self.buffer.has_room_for_large:
                if not self._work and not self._deferred.brokers:
                    break
                entries += self._deferred.write()
                if self._work:
                    done = next(self._work[0], None)
                    if done is None:
                        self._work.popleft()
                    entries += done or 0
            self.buffer.hand_over_soon()
        except Exception:
            self._work.clear()
            self._note_failure()
        self._want_step()

    def _drain_lookups(self, epoch_ms: int) -> tuple[list[LookupRow], int]:
        """The rows, and the length of their interval in ms."""
        interval_ms = max(0, epoch_ms - self._lookups_since_ms)
        self._lookups_since_ms = epoch_ms
        for drain in self._lookup_sources:
            self.lookups.merge(drain())
        return self.lookups.drain(), interval_ms

    def _write_lookups(self, rows: list[LookupRow], interval_ms: int) -> Iterator[int]:
        for row in rows:
            self.buffer.put(encoding.columns("lookup", row._asdict() | {"iv_ms": interval_ms}))
            yield 1

    def last_snapshot(self) -> Iterator[bool]:
        """Write a snapshot before `stop`, in pieces, so that the next start reads little. Nothing for large tables.

        Yields after each piece whether the writer is behind: then the next piece should wait. It may be left off.
        """
        self._work.clear()
        topics = self._tables.topic_queue_table.values()
        if not self.is_started or sum(map(len, topics)) > LAST_SNAPSHOT_ENTRIES_MAX:
            return
        self.buffer.at(self._epoch_ms)
        try:
            for _ in self._write_snapshot(self._new_snapshot()):
                yield self.buffer.is_half_full
            self._deferred.brokers.clear()  # the snapshot has them
        except Exception:
            self._note_failure()

    @property
    def has_whole_state(self) -> bool:
        """Whether the records of this boot alone give the state: a snapshot was whole, and none was lost since."""
        return self._whole_at == self.buffer.lost_total

    def stop(self, epoch_ms: int, since_ms: int | None = None) -> None:
        """Write the lookups since the last row and ``stop``, and hand everything over. Then call `join`."""
        self._work.clear()
        self.buffer.at(epoch_ms)
        self._deferred.end()
        if self.counts_lookups:
            for _ in self._write_lookups(*self._drain_lookups(epoch_ms)):
                pass
        self.buffer.close(epoch_ms, encoding.columns("stop", {}), since_ms)

    def join(self) -> bool:
        """Wait at most `STOP_WITHIN_S` until everything is on disk. Whether it is."""
        return self.writer.stop(STOP_WITHIN_S)
