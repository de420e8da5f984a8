"""A journal without a thread and without files, whose records can be read at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketns.config.journal import JournalConfig
from rocketns.journal.buffer import Buffer, BufferLimits
from rocketns.journal.journal import Journal
from rocketns.journal.writer import Chunk, Writer
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables
from tests.journal.replay import Record, check_columns, parsed
from tests.routeinfo.manager import Manager

BOOT_MS = 1_700_000_000_000


class MemoryWriter(Writer):
    """A writer that keeps its chunks. ``stuck`` leaves them pending, like a full disk."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.stuck = False
        self.pending_bytes = 0

    @property
    def has_pending(self) -> bool:
        return self.pending_bytes > 0

    def start(self, after_attempt: Callable[[], None] = lambda: None) -> None: ...

    @property
    def has_room(self) -> bool:
        return not self.stuck

    @property
    def is_behind(self) -> bool:
        return self.pending_bytes > 0

    def wake(self, *, sync: bool = True) -> None: ...

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:  # noqa: ARG002
        self.chunks.append(chunk)
        self.pending_bytes += len(chunk.data) if self.stuck else 0

    def unstick(self) -> None:
        self.stuck, self.pending_bytes = False, 0

    def stop(self, within_s: float) -> bool:  # noqa: ARG002
        return True

    def take(self) -> list[Record]:
        """Every record since the last call."""
        records = [one for chunk in self.chunks for one in parsed(bytes(chunk.data))]
        self.chunks.clear()
        return records


def memory_journal(
    tables: RouteTables,
    kv: dict | None = None,
    *,
    filled: DoubtReason | None = None,
    stuck: bool = False,
    **config: object,
) -> tuple[Journal, MemoryWriter]:
    """A started journal, with a ``stuck`` writer. Its waiting work is done at the next `run_work`."""
    settings = JournalConfig(journal_path="/nowhere", journal_ns="n1", **config)  # type: ignore[arg-type]
    journal = Journal(settings, "n1", tables, {} if kv is None else kv, BOOT_MS)
    steps: list[Callable[[], None]] = []
    journal.steps = steps  # type: ignore[attr-defined]
    writer = journal.writer = MemoryWriter()
    writer.stuck = stuck
    journal.buffer._writer = writer
    journal.start(lambda _s, step: steps.append(step), lambda call: call(), BOOT_MS, filled)
    return journal, writer


def run_work(journal: Journal, steps_max: int = 1_000_000) -> int:
    """Do steps of waiting work as the event loop would; how many."""
    steps: list[Callable[[], None]] = journal.steps  # type: ignore[attr-defined]
    done = 0
    while steps and done < steps_max:
        steps.pop(0)()
        done += 1
    return done


def memory_buffer(writer: MemoryWriter, limits: BufferLimits) -> Buffer:
    return Buffer(writer, limits, "n1", BOOT_MS)


class Told:
    """A manager, and the journal of its events."""

    def __init__(self, **config: Any) -> None:
        self.manager = Manager()
        self.journal: Journal
        self.writer: MemoryWriter
        self.journal, self.writer = memory_journal(self.manager.tables, **config)
        self.records: list[Record] = []

    def of(self, *_done: object) -> list[Record]:
        """The records of the events since the last call, and what was written meanwhile."""
        self.journal.record(list(self.manager.events), (self.manager.now_ms, BOOT_MS))
        self.manager.events.clear()
        return self.take()

    def events(self, *events: Event) -> list[Record]:
        """The records of events that are not the manager's."""
        return self.of(self.manager.note(events))

    def take(self) -> list[Record]:
        self.journal.buffer.flush(BOOT_MS)
        some = self.writer.take()
        for one in some:
            check_columns(one)
        self.records += some
        return some
