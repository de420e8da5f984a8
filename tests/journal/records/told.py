"""The records of the events of a manager."""

from __future__ import annotations

from typing import Any

from rocketns.journal.journal import Journal
from rocketns.routeinfo.events import Event
from tests.journal.memory import BOOT_MS, MemoryWriter, memory_journal
from tests.journal.replay import Record, check_columns
from tests.routeinfo.manager import Manager


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
        self.journal.record(list(self.manager.events), self.manager.now_ms, BOOT_MS)
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
