"""The replayed journal equals the tables, after any actions of brokers, tools, connections, time and restarts.

A failure prints the steps that lead to it and a line that replays it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from rocketns.journal import journal, snapshot
from rocketns.journal.effects import Effects
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unconfirmed.filling import fill
from tests.journal.memory import BOOT_MS, memory_journal, run_work
from tests.journal.replay import Record, State, check_columns, check_sequence
from tests.routeinfo.invariants import Replay
from tests.routeinfo.test_machine import RouteMachine, addrs, clusters
from tests.support.machine import run_machine

SEED = int(os.environ.get("ROCKETNS_SEED") or secrets.randbits(32))


class JournalMachine(RouteMachine):
    """The machine of the route tables, with a journal and with readers that begin at a snapshot."""

    def __init__(self) -> None:
        super().__init__()
        self.journal, self.writer = memory_journal(self.manager.tables)
        self.epoch_ms = BOOT_MS
        self.records: list[Record] = []
        self.state = State()
        self.late: State | None = None

    def told(self) -> None:
        if self.manager.events:
            self.journal.record(list(self.manager.events), self.manager.now_ms, self.epoch_ms)
        super().told()

    @rule(cluster=clusters, addr=addrs)
    def heartbeat(self, cluster: str, addr: str) -> None:
        self.manager.note(self.manager.tables.refresh(cluster, addr, self.manager.now_ms))
        self.told()

    @rule()
    def begin_a_snapshot(self) -> None:
        """An hour passes; a reader begins with its first record."""
        self.epoch_ms += journal.HOUR_MS
        run_work(self.journal)
        self.read()
        self.journal.tick(self.epoch_ms)
        self.late = State(lenient=True)

    @rule(steps=st.integers(1, 4))
    def go_on_with_the_snapshot(self, steps: int) -> None:
        run_work(self.journal, steps)

    @rule(ms=st.sampled_from([1, 10_000, 700_000]))
    def time_passes(self, ms: int) -> None:
        self.epoch_ms += ms

    @rule()
    def restart(self) -> None:
        """The next server begins with the routes of the journal, and its journal continues from there."""
        self.read()
        before, tables = self.manager.tables, RouteTables()
        routes = self.state.replay.routes
        routes.forget_brokers(before_epoch_ms=0)
        fill(tables, deepcopy(routes), Reason.RESTORED, self.manager.now_ms, confirm_ms=90_000)
        assert tables.topic_queue_table == of_members(before)
        assert tables.topic_queue_mapping_info_table == before.topic_queue_mapping_info_table
        self.manager.tables = tables
        self.waiting.clear()
        self.replay = Replay(deepcopy(tables.topic_queue_table), set(tables.broker_live_table))
        check_sequence(self.records)
        self.records.clear()
        self.late = None
        self.state.last_of.clear()
        self.journal, self.writer = memory_journal(tables, filled=Reason.RESTORED)

    def read(self) -> None:
        self.journal.buffer.flush(self.epoch_ms)
        records = self.writer.take()
        self.records += records
        self.state.apply(records)
        if self.late is not None:
            self.late.apply(records)

    @invariant()
    def the_journal_tells_the_tables(self) -> None:
        self.read()
        self.state.check(self.manager.tables)

    @invariant()
    def a_whole_snapshot_tells_the_tables(self) -> None:
        self.read()
        if self.late is not None and self.late.snapshot_ended:
            self.late.check(self.manager.tables)

    def teardown(self) -> None:
        self.read()
        check_sequence(self.records)
        for one in self.records:
            check_columns(one)


def of_members(tables: RouteTables) -> dict[str, dict[str, QueueData]]:
    """The queue data of groups that have an address. Others have no record in the journal, and are in no route."""
    found = {
        topic: {name: data for name, data in brokers.items() if tables.broker_addr_table[name].broker_addrs}
        for topic, brokers in tables.topic_queue_table.items()
    }
    return {topic: brokers for topic, brokers in found.items() if brokers}


run = partial(run_machine, JournalMachine, "tests/journal/records/test_replay.py")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small piece, so that much can happen between two pieces of a snapshot."""
    monkeypatch.setattr(snapshot, "PIECE_ENTRIES", 1)
    monkeypatch.setattr(snapshot, "BLOCK_ENTRIES", 3)
    monkeypatch.setattr(snapshot, "TOPICS_IN_RECORD_MAX", 1)
    monkeypatch.setattr(journal, "STEP_ENTRIES", 1)


def test_the_journal_tells_what_the_tables_hold() -> None:
    run(SEED, stateful_step_count=40)


@pytest.mark.parametrize("handler", ["_topics_deleted", "_join", "_ids_left", "_down", "_topics_put"])
def test_the_machine_finds_a_planted_fault(monkeypatch: pytest.MonkeyPatch, handler: str) -> None:
    ignored: Callable[..., None] = lambda _self, _event: None  # noqa: E731
    monkeypatch.setattr(Effects, handler, ignored)
    with pytest.raises(AssertionError) as raised:
        run(7, phases=[Phase.generate], max_examples=800, stateful_step_count=40, database=None)
    assert raised.value.__notes__[-1].startswith("replay: ROCKETNS_SEED=7 ")
