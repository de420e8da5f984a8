"""Snapshots: when they are written, in small steps, and after a loss.

The simulation shows that they are complete whatever happens while they are written.
"""

from __future__ import annotations

import pytest

from rocketns.journal import journal as journal_module
from rocketns.journal.journal import HOUR_MS, Journal
from rocketns.journal.record import TOPICS_IN_RECORD_MAX
from rocketns.journal.snapshot import SnapshotWriter
from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import BrokerHeartbeat
from rocketns.routeinfo.tables import RouteTables
from tests.journal.memory import BOOT_MS, MemoryWriter, memory_journal, run_work
from tests.journal.replay import State, check_sequence
from tests.routeinfo.manager import MASTER, Broker, Manager, table_of

NEXT_HOUR = (BOOT_MS // HOUR_MS + 1) * HOUR_MS
OTHER = Broker(name="other", addr="10.0.0.9:1")
TOPICS = [f"t{number}" for number in range(6)]


def test_there_is_one_in_each_hour_even_of_nothing() -> None:
    journal, writer = memory_journal(RouteTables())
    for hour in range(3):
        journal.tick(NEXT_HOUR + hour * HOUR_MS)
        run_work(journal)
    journal.buffer.flush(NEXT_HOUR + 3 * HOUR_MS)
    ends = [one for one in writer.take() if one["ev"] == "snap"]
    assert [(one["part"], one["end"]) for one in ends] == [(0, True)] * 3
    # each begins a file, so that its name is the number of the file's first record
    assert [one["seq"] - one["snap"] for one in ends] == [1, 1, 1]


def snapshots(journal: Journal, writer: MemoryWriter) -> int:
    """How many snapshots were begun since the last call, at the next tick of the same hour."""
    journal.tick(BOOT_MS)
    run_work(journal)
    journal.buffer.flush(BOOT_MS)
    return sum(one["part"] == 0 for one in writer.take() if one["ev"] == "snap")


def test_there_is_one_after_many_bytes_of_records() -> None:
    """A start reads all records, and heartbeats of acting masters come every second."""
    manager = Manager()
    journal, writer = memory_journal(manager.tables, journal_snapshot_bytes=50_000)
    manager.register(MASTER, table_of(*TOPICS))
    journal.record(list(manager.events), (manager.now_ms, BOOT_MS))
    assert snapshots(journal, writer) == 0
    for begun in (1, 0, 1):
        manager.events.clear()
        manager.register(MASTER, table_of(*TOPICS))
        for _ in range(300 if begun else 100):  # of 200 bytes
            journal.record(list(manager.events), (manager.now_ms, BOOT_MS))
        assert snapshots(journal, writer) == begun


def test_large_snapshots_are_as_rare_as_they_are_large() -> None:
    """With a limit much smaller than the tables, the journal has at most twice the bytes."""
    manager = filled(4, 1_000)
    journal, writer = memory_journal(manager.tables, journal_snapshot_bytes=4_096)
    journal.record(list(manager.events), (manager.now_ms, BOOT_MS))
    assert snapshots(journal, writer) == 1
    manager.events.clear()
    manager.register(Broker(name="b0", addr="10.0.0.1:1"), table_of("topic-0"))
    before = journal.buffer.bytes
    while not snapshots(journal, writer):
        journal.record(list(manager.events) * 100, (manager.now_ms, BOOT_MS))
    assert journal.buffer.bytes - before > 2 * 4_000 * 40


def filled(brokers: int, topics: int) -> Manager:
    manager = Manager()
    kinds = [queue_data(8, 8, 6, 0), queue_data(4, 4, 6, 0)]
    table = {f"topic-{number}": kinds[number % 2] for number in range(topics)}
    for number in range(brokers):
        manager.register(Broker(name=f"b{number}", addr=f"10.0.{number}.1:1"), table_of(**table))
    return manager


@pytest.mark.parametrize(("brokers", "topics"), [(100, 500), (2, 25_000)])
def test_a_large_snapshot_is_written_in_steps_of_bounded_work(
    brokers: int, topics: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = filled(brokers, topics)
    journal, writer = memory_journal(manager.tables)
    journal.record(manager.events, (manager.now_ms, BOOT_MS))
    journal.buffer.flush(BOOT_MS)
    writer.take()
    written: list[int] = []
    real = journal.buffer.put
    monkeypatch.setattr(journal.buffer, "put", lambda data: (written.append(data.count(b'{"t":')), real(data))[1])
    journal.tick(NEXT_HOUR)
    most = 0
    while run_work(journal, 1):
        most = max(most, sum(written))
        written.clear()
    assert 0 < most <= journal_module.STEP_ENTRIES + TOPICS_IN_RECORD_MAX
    journal.buffer.flush(NEXT_HOUR)
    records = writer.take()
    State().apply(one for one in records if one["ev"] == "snap").check(manager.tables)


def test_a_snapshot_waits_while_the_writer_is_behind_and_nothing_is_lost() -> None:
    manager = filled(10, 2_000)
    journal, writer = memory_journal(manager.tables, journal_buffer_bytes=400_000)
    for event in manager.events:
        journal.record([event], (manager.now_ms, BOOT_MS))
        journal.buffer.flush(BOOT_MS)
    records = writer.take()
    writer.stuck = True
    journal.tick(NEXT_HOUR)
    for second in range(10):
        assert run_work(journal, 1_000) < 1_000
        journal.tick(NEXT_HOUR + second * 1_000)
    assert not any(chunk.data.count(b'"end":true') for chunk in writer.chunks)
    writer.stuck = False
    for second in range(10, 40):
        writer.unstick()
        journal.tick(NEXT_HOUR + second * 1_000)
        run_work(journal)
    journal.buffer.flush(NEXT_HOUR + 60_000)
    records += writer.take()
    check_sequence(records)
    assert journal.buffer.lost == 0
    assert [one["lost"] for one in records if one["ev"] == "drop"] == []
    assert records[-1].get("end")
    state = State().apply(records)
    state.check(manager.tables)


def test_a_loss_is_followed_by_a_snapshot_from_which_readers_know_the_state_again() -> None:
    manager = filled(3, 2_000)
    journal, writer = memory_journal(manager.tables, journal_buffer_bytes=65_536)
    writer.take()
    writer.stuck = True
    for event in manager.events:
        journal.record([event], (manager.now_ms, BOOT_MS))
    while journal.buffer.lost < 3:  # topics wait in the tables, signs of life do not
        journal.record([BrokerHeartbeat(MASTER.cluster, "10.0.0.1:1", 1)], (manager.now_ms, BOOT_MS))
    for second in range(100):
        writer.unstick()
        journal.tick(BOOT_MS + second * 1_000)
        run_work(journal)
    journal.buffer.flush(BOOT_MS + 100_000)
    records = writer.take()
    drops = [one["seq"] for one in records if one["ev"] == "drop"]
    (begin,) = [one for one in records if one.get("part") == 0]
    assert begin["snap"] > drops[-1]
    assert begin["ts"] - BOOT_MS * 1_000 == journal_module.SNAPSHOT_PAUSE_MS * 1_000
    state = State().apply(one for one in records if one["seq"] >= begin["snap"])
    assert state.snapshot_ended
    state.check(manager.tables)


def test_the_journal_has_the_restored_tables_before_the_server_serves() -> None:
    """A broker whose address refuses connections is removed a moment later. The journal shows that it was there."""
    manager = filled(2, 100)
    _, writer = memory_journal(manager.tables, filled=DoubtReason.RESTORED)
    state = State(lenient=True)
    state.apply(writer.take())
    assert state.snapshot_ended
    state.check(manager.tables)


def test_no_piece_of_a_snapshot_has_more_than_a_thousand_entries() -> None:
    """For any number of topics, control continues with other work after each piece."""
    manager = Manager()
    manager.register(MASTER, table_of(*(f"t{number}" for number in range(20_000))))
    journal, _ = memory_journal(manager.tables)
    pieces = list(SnapshotWriter(manager.tables, journal._effects.members, {}, journal.buffer))
    assert sum(pieces) > 30_000  # each topic is work twice: its name is noted first, and written later
    assert max(pieces) <= 1_000
