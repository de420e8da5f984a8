"""Topics of large requests are written later, in pieces: what readers know then, and that others lose nothing."""

from __future__ import annotations

import json
import random

import pytest

from rocketns.access.shown import FIELDS_MAX, shown_fields
from rocketns.journal import buffer, deferred
from rocketns.journal import journal as journal_module
from rocketns.journal.record import FILTER_CHARS_IN_RECORD_MAX, NAME_BYTES_IN_RECORD_MAX, VALUE_BYTES_IN_RECORD_MAX
from rocketns.protocol.body.route import TopicQueueMappingInfo
from rocketns.routeinfo.events import AdminRequested, BrokerHeartbeat, ConfigChanged, KvChanged, MappingsPut
from rocketns.routeinfo.tables import RouteTables
from tests.journal.memory import BOOT_MS, Told, memory_journal, run_work
from tests.journal.replay import State, check_sequence
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ_ONLY,
    SLAVE,
    SLAVE_ADDR,
    VERSION,
    Broker,
    table_of,
)

# Of six bytes each in JSON.
CONTROLS = "\x01" * 4_096
# With 200 bytes each, 100 times as many take more than what large records would leave.
BEATS = 5
LARGE = [f"{CONTROLS}{number}" for number in range(400)]


def large(**config: int) -> Told:
    """After a registration of LARGE."""
    told = Told(**config)
    told.of(told.manager.register(MASTER, table_of(*LARGE)))
    return told


def test_the_topics_of_a_large_registration_are_written_in_pieces() -> None:
    """Control encodes a bounded part of them, and the rest between other work."""
    told = large()
    assert sum(len(one.get("topics", ())) for one in told.records) * 6 * 4_096 <= buffer.AT_ONCE_BYTES_MAX
    pieces = []
    while run_work(told.journal, 1):
        pieces.append(sum(len(one.get("topics", ())) for one in told.take()))
    assert 0 < max(pieces) * 6 * 4_096 < 2 * journal_module.STEP_BYTES
    check_sequence(told.records)
    assert told.journal.buffer.lost_total == 0
    assert State().apply(told.records).topics == told.manager.tables.topic_queue_table


def test_a_broker_has_no_data_version_until_all_of_its_topics_are_written() -> None:
    """A server that is killed in between is to ask it for all of them."""
    told = Told()
    told.of(told.manager.register(MASTER, table_of(*LARGE)), told.manager.register(MASTER, table_of(*LARGE)))
    assert [one.get("dvt") for one in told.records if one["ev"] in ("reg", "hb")] == [None, None]
    run_work(told.journal)
    (live,) = [one for one in told.take() if one["ev"] == "live"]
    assert (live["live"], live["dvt"]) == (ADDR, VERSION.timestamp)
    (again,) = told.of(told.manager.register(MASTER, table_of(*LARGE)))
    assert (again["ev"], again["dvt"]) == ("hb", VERSION.timestamp)


def test_a_member_that_was_there_loses_its_data_version_too() -> None:
    told = Told()
    told.of(told.manager.register(MASTER, table_of("t", "u")), told.manager.register(SLAVE, table_of("t", "u")))
    told.of(told.manager.register(MASTER.next_version(), table_of("t", "u", *LARGE)))
    beats = told.events(BrokerHeartbeat(CLUSTER, ADDR, 1), BrokerHeartbeat(CLUSTER, SLAVE_ADDR, 1))
    assert [one.get("dvt") for one in beats if one["ev"] == "hb"] == [None, None]


def test_many_changes_of_the_same_topics_have_one_record_each() -> None:
    """A frame of a hundred bytes changes all topics of a broker: the permission of 400 names of 4 KiB."""
    told = large()
    run_work(told.journal)
    told.take()
    for _ in range(50):
        told.of(told.manager.wipe_write_perm(BROKER))
        told.of(told.manager.add_write_perm(BROKER))
    run_work(told.journal)
    later = [topic["t"] for one in told.take() if one["ev"] == "tput" for topic in one["topics"]]
    assert len(later) == len(set(later)) <= len(LARGE)


@pytest.mark.parametrize("seed", range(20))
def test_a_reader_of_everything_knows_the_tables_whatever_changed_meanwhile(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer, "AT_ONCE_BYTES_MAX", 0)
    chance, told = random.Random(seed), Told()
    names = [f"t{number}" for number in range(12)]
    for number in range(40):
        broker = chance.choice([MASTER, Broker(name="other", addr="10.0.0.9:1")])
        for _ in range(number):
            broker = broker.next_version()
        topics = dict.fromkeys(chance.sample(names, 5), chance.choice([READ_ONLY, NORMAL]))
        told.manager.register(broker, table_of(**topics))
        if chance.random() < 0.3:
            told.manager.delete_topic(chance.choice(names))
        if chance.random() < 0.1:
            told.manager.unregister(broker)
        told.of()
        run_work(told.journal, chance.randrange(3))
    run_work(told.journal)
    told.take()
    check_sequence(told.records)
    assert State(lenient=True).apply(told.records).topics == told.manager.tables.topic_queue_table


def test_more_than_the_bound_is_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "ENTRIES_MAX", 100)
    told = large()
    run_work(told.journal)
    told.take()
    assert told.journal.buffer.lost_total == 1
    check_sequence(told.records)


def test_characters_of_names_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "CHARACTERS_MAX", 100 * 4_096)
    told = large()
    assert told.journal.buffer.lost_total == 1


def large_mapping(number: int) -> MappingsPut:
    """Its record has 240 KB."""
    return MappingsPut(BROKER, [(f"{number}", TopicQueueMappingInfo(bname="\x01" * 40_000, curr_id_map={0: 0}))])


def test_large_records_leave_room_for_small_ones() -> None:
    """The disk is stuck. Mappings of a peer fill half of the buffer, and no sign of life is lost by it."""
    told = Told(journal_buffer_bytes=1 << 20)
    told.of(told.manager.register(MASTER, table_of("t", "u")))
    told.writer.stuck = True
    for number in range(100):
        told.manager.events.append(large_mapping(number))
        told.manager.events += [BrokerHeartbeat(CLUSTER, ADDR, number)] * BEATS
        told.journal.record(list(told.manager.events), (told.manager.now_ms, BOOT_MS))
        told.manager.events.clear()
    told.writer.unstick()
    records = told.take()
    assert sum(one["ev"] == "hb" for one in records) == 100 * BEATS
    assert 0 < sum(one["ev"] == "map" for one in records) < 100
    check_sequence(told.records)


@pytest.mark.parametrize("event", [
    KvChanged(CONTROLS, CONTROLS, CONTROLS * 10), KvChanged("\ud800" * 4_096, '"' * 4_096, "\\\ud800" * 40_000),
    ConfigChanged(CONTROLS, CONTROLS * 10),
], ids=["controls", "surrogates", "property"])  # fmt: skip
def test_no_record_of_an_item_or_a_property_is_a_large_one(event: KvChanged | ConfigChanged) -> None:
    """Whatever an administrator writes: it finds room though topics of others have had their share."""
    told = Told(journal_buffer_bytes=1 << 20)
    told.writer.stuck = True
    told.journal.record([*map(large_mapping, range(48)), event], (told.manager.now_ms, BOOT_MS))
    told.writer.unstick()
    (one,) = [one for one in told.take() if one["ev"] in ("kv", "config")]
    assert len(json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass")) > 10_000
    assert told.journal.buffer.lost_total > 0


def test_values_of_a_peer_leave_room_for_the_record_of_an_administrator() -> None:
    """The disk is stuck, and large records have had their share."""
    told = Told(journal_buffer_bytes=1 << 20)
    told.writer.stuck = True
    junk = shown_fields({f"{number}{CONTROLS}": CONTROLS for number in range(FIELDS_MAX)})
    admin = AdminRequested(216, 0, "10.0.0.9", "10.0.0.9:1", "ops", "key", junk, before=None, after=None)
    told.journal.record([*map(large_mapping, range(48)), admin], (told.manager.now_ms, BOOT_MS))
    told.writer.unstick()
    assert [one["code"] for one in told.take() if one["ev"] == "admin"] == [216]
    assert told.journal.buffer.lost_total > 0


def wipe_without_a_flush(told: Told, times: int) -> int:
    """The bytes of the records of so many changes of the permission of all topics."""
    before = told.journal.buffer.bytes
    for _ in range(times):
        told.manager.events.clear()
        told.manager.wipe_write_perm(BROKER)
        told.manager.add_write_perm(BROKER)
        told.journal.record(list(told.manager.events), (told.manager.now_ms, BOOT_MS))
        run_work(told.journal)
    told.manager.events.clear()
    return told.journal.buffer.bytes - before


def test_large_records_have_a_share_between_two_flushes() -> None:
    """Small frames that change many topics again and again fill no disk, and no honest record waits for them."""
    told = large(journal_buffer_bytes=1 << 20)
    for _ in range(3):
        assert 1 << 20 < wipe_without_a_flush(told, 100) <= (buffer.LARGE_SHARE << 20) + 2 * journal_module.STEP_BYTES
        told.take()
    assert told.journal.buffer.lost_total == 0


def test_topics_of_one_peer_leave_room_for_brokers_with_long_names() -> None:
    """Their records are large too, and cannot wait."""
    told = large(journal_buffer_bytes=1 << 20)
    wipe_without_a_flush(told, 100)
    names = [f"{CONTROLS}{number}" for number in range(30)]
    for number, name in enumerate(names):
        told.manager.register(SLAVE.but(name=name, addr=f"10.0.0.1:{number}"), table_of("t", "u"))
    assert [one["broker"] for one in told.of() if one["ev"] == "reg"] == names
    assert told.journal.buffer.lost_total == 0


def test_a_value_is_cut() -> None:
    told = Told()
    long, name = "x" * (VALUE_BYTES_IN_RECORD_MAX + 1), "n" * (NAME_BYTES_IN_RECORD_MAX + 1)
    (kv,) = [one for one in told.events(KvChanged(name, "k", long)) if one["ev"] == "kv"]
    assert kv["val"] == f"{long[:-1]}… (cut, {len(long)} characters)"
    assert (kv["ns_key"], kv["key"]) == (f"{name[:-1]}… (cut, {len(name)} characters)", "k")


def test_long_values_of_the_file_are_written_in_pieces_after_a_start() -> None:
    """Of a file of 16 MiB, whose values a peer chose, no record is larger than the buffer has room for."""
    long = "x" * (VALUE_BYTES_IN_RECORD_MAX + 1)
    kv = {"ns": {f"k{number}": long for number in range(200)}}
    journal, writer = memory_journal(RouteTables(), kv, stuck=True, journal_buffer_bytes=1 << 20)
    written = {}
    for _ in range(40):
        writer.unstick()
        written |= {one["key"]: one["val"] for one in writer.take() if one["ev"] == "kv"}
        writer.stuck = True
        journal.tick(BOOT_MS)
        run_work(journal)
    assert journal.buffer.lost_total == 0
    assert written == dict.fromkeys(kv["ns"], f"{long[:-1]}… (cut, {len(long)} characters)")


def test_only_the_first_of_many_filter_servers_are_written() -> None:
    """One frame may name 10,000 of 4 KiB."""
    told = Told()
    servers: list[str | None] = ["x" * 1_000] * 100
    told.of(told.manager.register(MASTER, table_of("t", "u"), filters=servers))
    (member,) = [one for one in told.records if one["ev"] == "reg"]
    assert member["fs"] == servers[: FILTER_CHARS_IN_RECORD_MAX // 1_000]
    assert told.of(told.manager.register(MASTER, table_of("t", "u"), filters=servers))[0].keys().isdisjoint({"fs"})


def test_long_mappings_have_records_of_their_own() -> None:
    told = Told()
    info = TopicQueueMappingInfo(bname="b" * 30_000, curr_id_map={0: 0})
    told.events(MappingsPut(BROKER, [(f"t{number}", info) for number in range(5)]))
    assert [len(one["maps"]) for one in told.records if one["ev"] == "map"] == [1] * 5


def test_names_that_were_written_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "CHARACTERS_MAX", 500 * 4_100)
    told = Told()
    for _ in range(3):
        told.of(told.manager.register(MASTER, table_of(*LARGE)))
        run_work(told.journal)
        told.of(told.manager.wipe_write_perm(BROKER))
        run_work(told.journal)
        told.of(told.manager.unregister(MASTER))
        run_work(told.journal)
    told.take()
    assert told.journal.buffer.lost_total == 0


def test_the_stop_writes_waiting_records() -> None:
    told = large()
    told.journal.stop(BOOT_MS)
    told.records += told.writer.take()
    assert told.records[-1]["ev"] == "stop"
    assert State().apply(told.records).topics == told.manager.tables.topic_queue_table


def test_the_stop_counts_records_without_room_as_lost() -> None:
    told = Told(journal_buffer_bytes=1 << 20)
    told.writer.stuck = True
    told.of(told.manager.register(MASTER, table_of(*LARGE)))
    told.journal.stop(BOOT_MS)
    assert told.journal.buffer.lost_total == 1
