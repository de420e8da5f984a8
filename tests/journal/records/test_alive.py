"""The sign of life of an idle server: at most one record a minute, and none beside other records."""

from __future__ import annotations

from rocketns.journal.journal import ALIVE_AFTER_MS, Journal
from rocketns.routeinfo.events import KvChanged
from rocketns.routeinfo.tables import RouteTables
from tests.journal.memory import BOOT_MS, MemoryWriter, memory_journal
from tests.journal.replay import check_columns, check_sequence

HOUR_S, DAY_S = 3_600, 86_400


def live(journal: Journal, seconds: range) -> None:
    """A tick each second, as the server calls it."""
    for second in seconds:
        journal.tick(BOOT_MS + second * 1_000)


def minutes_of_life(writer: MemoryWriter) -> list[float]:
    records = writer.take()
    check_sequence(records)
    for one in records:
        check_columns(one)
    return [(one["ts"] // 1_000 - BOOT_MS) / 60_000 for one in records if one["ev"] == "alive"]


def test_an_empty_server_writes_a_record_a_minute() -> None:
    journal, writer = memory_journal(RouteTables())
    live(journal, range(1, 310))
    assert [round(minute, 1) for minute in minutes_of_life(writer)] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_other_records_are_signs_of_life_too() -> None:
    journal, writer = memory_journal(RouteTables())
    for second in range(1, 301):
        if second % 50 == 0:
            change = KvChanged("ns", "k", str(second))
            journal.record([change], BOOT_MS, BOOT_MS + second * 1_000)
        live(journal, range(second, second + 1))
    assert minutes_of_life(writer) == []


def test_a_quiet_day_costs_at_most_150_kb() -> None:
    journal, writer = memory_journal(RouteTables())
    sizes = []
    for minute in range(1, DAY_S // 60):
        journal.tick(BOOT_MS + minute * 60_000)
        sizes.append(sum(len(chunk.data) for chunk in writer.chunks))
        writer.chunks.clear()
    assert 90_000 < sum(sizes) < 150_000  # with the files' first records


def test_a_stuck_disk_is_not_filled_by_signs_of_life() -> None:
    journal, writer = memory_journal(RouteTables(), journal_buffer_bytes=65_536)
    writer.stuck = True
    for minute in range(1, 10_000):
        journal.tick(BOOT_MS + minute * ALIVE_AFTER_MS)
    assert journal.buffer.lost == 0
    writer.unstick()
    journal.tick(BOOT_MS + 10_000 * ALIVE_AFTER_MS)
    check_sequence(writer.take())


def test_a_clock_that_was_set_back_does_not_end_it() -> None:
    journal, writer = memory_journal(RouteTables())
    journal.tick(BOOT_MS + 30_000)
    for second in range(1, 181):
        journal.tick(BOOT_MS - HOUR_S * 1_000 + second * 1_000)
    assert len(minutes_of_life(writer)) >= 3
