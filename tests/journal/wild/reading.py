"""Readers of a wild world's journal, who compare what it tells with the tables after each step."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from rocketns.journal import encoding
from rocketns.journal.reading.replay import Replay
from rocketns.routeinfo.tables import DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS
from tests.journal.replay import Record, State, check_columns, check_sequence
from tests.journal.wild.world import World


class Readers:
    """One reads everything since the start, another one begins with each snapshot. Each record is checked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.state, self.late = State(), State(lenient=True)
        self.records: list[Record] = []

    def begin_boot(self) -> None:
        """The server was restarted: it began with the routes of the journal."""
        check_sequence(self.records)
        self.records = []
        self.state, self.late = State(replay=_restored(self.world)), State(lenient=True)

    def read(self) -> None:
        """AssertionError with what differs."""
        self.world.journal.buffer.flush(self.world.now.epoch_ms)
        for record in self.world.files.take():
            check_columns(record)
            self.records.append(record)
            if record["ev"] == "snap" and record["part"] == 0:
                self.late = State(lenient=True)
            for state in (self.state, self.late):
                state.apply([_read(record)])
        self.state.check(self.world.tables)
        if self.late.snapshot_ended:
            self.late.check(self.world.tables)


def _read(record: Record) -> Any:
    """As `restore.lines` gives it."""
    return encoding.unescaped(record) if record.get("escaped") else record


def _restored(world: World) -> Replay:
    """A reader who knows what the start has put into the tables."""
    replay = Replay()
    if world.restored is not None:
        replay.routes = deepcopy(world.restored.routes)
        for live in replay.routes.lives.values():
            if live.members and live.timeout_ms is None:  # see `fill`
                live.timeout_ms = DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS
    return replay
