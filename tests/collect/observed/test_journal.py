"""The boots of a watched name server: how they begin and end, and from where the next one continues."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocketns.collect.observed_journal import STATE_AGE_MS_MAX, ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.journal import journal as journals
from rocketns.journal.buffer import Buffer
from rocketns.journal.reading.verifying import check as verify
from rocketns.journal.writer import Writer
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.events import BrokerDown, Event
from tests.collect.observed.journals import NOW_MS, NS, Steps, checked, journal_at, memory_journal, records_of
from tests.collect.observed.test_groups import MORE, QUEUES, A, B, group, route, watched
from tests.collect.observed.test_told import kill
from tests.journal.memory import MemoryWriter
from tests.journal.replay import Record, State, kinds

LATER_MS = NOW_MS + 1_000


def plain(records: list[Record]) -> list[Record]:
    """Without what every record has."""
    return [{name: value for name, value in one.items() if name not in ("boot", "seq", "prev", "hash")}
            for one in records if one["ev"] != "seal"]  # fmt: skip


def of_kind(records: list[Record], *names: str) -> list[Record]:
    return plain([one for one in records if one["ev"] in names])


def test_a_boot_begins_with_a_snapshot_items_and_properties() -> None:
    observed, steps = watched("t"), Steps()
    observed.kv_items("n", {"k": "v"})
    observed.configuration("a=1\ntls.server.keyPassword=secret")
    with memory_journal(observed, steps) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        steps.run()
        journal.tick(NOW_MS)
        records = checked(writer.take())
    assert kinds(records) == ["open", "start", *["snap"] * 5, "kv", "config", "config"]
    start = {"ts": NOW_MS * 1000, "ev": "start", "ns": NS, "observed": True}
    assert of_kind(records, "start") == [start]
    assert of_kind(records, "kv", "config") == [
        {"ts": NOW_MS * 1000, "ev": "kv", "ns_key": "n", "key": "k", "val": "v"},
        {"ts": NOW_MS * 1000, "ev": "config", "key": "a", "val": "1"},
        {"ts": NOW_MS * 1000, "ev": "config", "key": "tls.server.keyPassword"},
    ]


def recorded(journal: ObservedJournal, writer: MemoryWriter, events: list[Event]) -> list[Record]:
    """The records of events that happened in the second before."""
    journal.tick(NOW_MS)
    writer.take()
    journal.record(events, LATER_MS, NOW_MS)
    journal.tick(LATER_MS)
    return plain(checked(writer.take()))


def test_a_change_has_the_two_moments_between_which_it_happened() -> None:
    observed, when = watched("t"), {"ts": LATER_MS * 1000, "since": NOW_MS * 1000}
    with memory_journal(observed, Steps()) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        told = recorded(journal, writer, observed.groups({"b": group({0: B})}))
        put = recorded(journal, writer, observed.route("t", route({"b": MORE})))
    key = {"cluster": "c", "broker": "b"}
    assert told == [
        when | {"ev": "down", **key, "bid": 0, "addr": A, "cause": "observed"},
        when | {"ev": "down", **key, "bid": 1, "addr": B, "cause": "register"},
        when | {"ev": "reg", **key, "bid": 0, "addr": B, "acting": False},
    ]
    queues = {"t": "t", "r": 16, "w": 16, "p": 6, "s": 0}
    assert put == [when | {"ev": "tput", "broker": "b", "cause": "observed", "topics": [queues]}]


def test_a_broker_that_was_asked_says_so_in_its_record() -> None:
    observed = watched()
    with memory_journal(observed, Steps()) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        (event,) = observed.groups({"b": group({1: B})})
        assert isinstance(event, BrokerDown)
        (told,) = recorded(journal, writer, [replace(event, asked="refused")])
    assert (told["ev"], told["asked"]) == ("down", "refused")


def test_topics_that_wait_for_room_have_the_first_moment_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "room_at_once", 1)
    observed, steps = watched(), Steps()
    with memory_journal(observed, steps) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        journal.record(observed.route("t", route({"b": QUEUES})), NOW_MS + 2, NOW_MS + 1)
        journal.record(observed.route("t", None), NOW_MS + 9, NOW_MS + 5)
        journal.tick(NOW_MS + 20)
        steps.run()
        journal.record(observed.groups({}), NOW_MS + 30, NOW_MS + 25)
        journal.tick(NOW_MS + 30)
        told = of_kind(checked(writer.take()), "tput", "tdel", "down", "live")
    at = {"ts": (NOW_MS + 20) * 1000, "since": (NOW_MS + 1) * 1000}
    assert told[0] == at | {"ev": "tdel", "broker": "b", "cause": "observed", "topics": [{"t": "t"}]}
    assert [one["since"] for one in told[1:]] == [(NOW_MS + 25) * 1000] * 2


def test_topics_that_wait_are_put_for_the_same_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "room_at_once", 1)
    observed, steps = watched("t"), Steps()
    with memory_journal(observed, steps) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        journal.record(observed.route("t", None), LATER_MS, NOW_MS)
        monkeypatch.undo()
        journal.record(observed.route("t", route({"b": QUEUES})), LATER_MS, NOW_MS)
        steps.run()
        journal.tick(LATER_MS)
        assert {one["cause"] for one in of_kind(checked(writer.take()), "tput", "tdel")} == {"observed"}


def test_a_lost_server_ends_the_boot_with_the_moment_of_the_last_look() -> None:
    observed = watched("t")
    with memory_journal(observed, Steps()) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        journal.lost(LATER_MS + 30_000, LATER_MS)
        assert not journal.is_watching
        journal.tick(LATER_MS + 40_000)
        stop = plain(checked(writer.take()))[-1]
        assert stop == {"ts": (LATER_MS + 30_000) * 1000, "since": LATER_MS * 1000, "ev": "stop"}
        assert journal.resumes(LATER_MS + 60_000) == LATER_MS
        journal.begin(LATER_MS + 60_000, restored=True)
        assert of_kind(writer.take(), "start")[0]["restored"] is True


@pytest.mark.parametrize(
    ("later_ms", "resumes"), [(STATE_AGE_MS_MAX, True), (STATE_AGE_MS_MAX + 1, False), (-1, False)]
)
def test_a_state_of_an_hour_ago_is_too_old(later_ms: int, resumes: bool) -> None:
    with memory_journal(watched(), Steps()) as (journal, _):
        journal.begin(NOW_MS, restored=False)
        journal.lost(NOW_MS, NOW_MS)
        assert (journal.resumes(NOW_MS + later_ms) is not None) is resumes
        if not resumes:
            with pytest.raises(ValueError, match="no boot"):
                journal.begin(NOW_MS + later_ms, restored=True)


def test_a_boot_does_not_begin_within_another() -> None:
    with memory_journal(watched(), Steps()) as (journal, _):
        journal.begin(NOW_MS, restored=False)
        with pytest.raises(ValueError, match="no boot"):
            journal.begin(NOW_MS, restored=False)


def test_changes_while_nobody_watches_are_not_continued_from() -> None:
    observed = watched()
    with memory_journal(observed, Steps()) as (journal, _):
        journal.begin(NOW_MS, restored=False)
        journal.lost(NOW_MS, NOW_MS)
        journal.record([], LATER_MS, NOW_MS)
        assert journal.resumes(LATER_MS) is not None
        journal.record(observed.groups({}), LATER_MS, NOW_MS)
        assert journal.resumes(LATER_MS) is None


def test_lost_records_are_not_continued_from_unless_a_snapshot_follows() -> None:
    observed, steps = watched(), Steps()
    with memory_journal(observed, steps) as (journal, _):
        journal.begin(NOW_MS, restored=False)
        assert journal._journal is not None
        journal._journal.buffer.lose("test")
        assert journal.lost_records == 1
        journal.lost(NOW_MS, NOW_MS)
        assert journal.resumes(NOW_MS) is not None, "the last snapshot tells the state"
        journal.begin(NOW_MS, restored=True)
        assert journal._journal is not None
        journal._journal.last_snapshot = lambda: iter(())  # type: ignore[method-assign]
        journal._journal.buffer.lose("test")
        journal.lost(NOW_MS, NOW_MS)
        assert journal.resumes(NOW_MS) is None


def test_a_disk_that_does_not_take_the_end_is_not_continued_from(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_journal(watched(), Steps()) as (journal, writer):
        journal.begin(NOW_MS, restored=False)
        monkeypatch.setattr(writer, "stop", lambda _within_s: False)
        journal.lost(NOW_MS, NOW_MS)
        assert journal.resumes(NOW_MS) is None


def begun(root: Path, *topics: str) -> ObservedJournal:
    journal = journal_at(root, watched(*topics), Steps())
    journal.begin(NOW_MS, restored=False)
    return journal


def restored(root: Path, epoch_ms: int) -> tuple[int | None, Observed]:
    observed = Observed()
    return journal_at(root, observed, Steps()).restore(epoch_ms), observed


def test_a_restart_continues_from_the_last_look(tmp_path: Path) -> None:
    begun(tmp_path, "t").close(LATER_MS + 500, LATER_MS)
    since_ms, observed = restored(tmp_path, LATER_MS + 9_000)
    assert since_ms == LATER_MS
    assert observed.tables == watched("t").tables


def test_a_restart_after_a_kill_continues_from_the_last_record(tmp_path: Path) -> None:
    journal = begun(tmp_path, "t")
    journal.tick(LATER_MS)
    kill(journal)
    since_ms, observed = restored(tmp_path, LATER_MS)
    assert since_ms == NOW_MS
    assert observed.tables == watched("t").tables


def test_a_restart_does_not_continue_from_an_old_state(tmp_path: Path) -> None:
    begun(tmp_path, "t").close(LATER_MS, LATER_MS)
    since_ms, observed = restored(tmp_path, LATER_MS + STATE_AGE_MS_MAX + 1)
    assert since_ms is None
    assert observed.tables == Observed().tables


def test_a_restart_without_a_journal_continues_from_nothing(tmp_path: Path) -> None:
    assert restored(tmp_path, NOW_MS)[0] is None


def test_a_restart_does_not_continue_from_half_a_first_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path, "old").close(NOW_MS, NOW_MS)
    monkeypatch.setattr(journals, "STEP_ENTRIES", 1)
    journal = journal_at(tmp_path, watched("t"), Steps())
    journal.begin(LATER_MS, restored=False)
    journal.tick(LATER_MS)
    kill(journal)
    assert restored(tmp_path, LATER_MS)[0] is None


def test_a_restart_does_not_continue_where_a_record_is_missing(tmp_path: Path) -> None:
    observed = watched("t")
    journal = journal_at(tmp_path, observed, Steps())
    journal.begin(NOW_MS, restored=False)
    journal.record(observed.route("t", route({"b": MORE})), LATER_MS, NOW_MS)
    journal.lost(LATER_MS, LATER_MS)
    journal.close(LATER_MS, LATER_MS)
    assert restored(tmp_path, LATER_MS)[0] == LATER_MS
    (path,) = tmp_path.glob("v=1/*/*/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"ev":"tput"' not in line))
    assert restored(tmp_path, LATER_MS)[0] is None


def test_a_restart_does_not_continue_from_what_is_beyond_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path, "t").close(LATER_MS, LATER_MS)
    monkeypatch.setattr("rocketns.collect.observed.groups.BROKER_IDS_MAX", 1)
    assert restored(tmp_path, LATER_MS)[0] is None


def test_the_seals_of_all_boots_are_one_chain(tmp_path: Path) -> None:
    observed = watched("t")
    journal = journal_at(tmp_path, observed, Steps())
    for boot in range(3):
        journal.begin(NOW_MS + boot * 10_000, restored=boot > 0)
        journal.record(observed.route("t", route({"b": QueueData(boot, 1, 6, 0)})), NOW_MS + boot * 10_000, NOW_MS)
        journal.lost(NOW_MS + boot * 10_000 + 1, NOW_MS)
    journal.close(NOW_MS, NOW_MS)
    found = verify(tmp_path, NS)
    assert (found.faults, found.tail, found.anew) == ([], 0, [])
    assert found.seals >= 6
    assert State().apply(checked(records_of(tmp_path))).shown()["topics"] == {"t": {"b": QueueData(2, 1, 6, 0)}}


def test_a_journal_is_retained_as_that_of_a_name_server(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    assert journal._journal is not None
    writer: Writer = journal._journal.writer
    assert (writer._retention.days, writer._retention.bytes_max) == (30, 10 * 1024**3)
    journal.close(NOW_MS, NOW_MS)


def test_a_snapshot_ends_with_the_oldest_look_and_a_restart_goes_on_from_it(tmp_path: Path) -> None:
    journal = journal_at(tmp_path, watched("t"), Steps())
    journal.begin(NOW_MS, restored=False, looked=lambda: NOW_MS - 90_000)
    journal.close(LATER_MS, LATER_MS)
    ends = [one for one in checked(records_of(tmp_path)) if one.get("end")]
    assert {one["looked"] for one in ends} == {(NOW_MS - 90_000) * 1000}
    again = journal_at(tmp_path, Observed(), Steps())
    assert (again.restore(LATER_MS), again.looked_ms) == (LATER_MS, NOW_MS - 90_000)


def test_a_boot_without_topics_says_so_and_is_not_continued(tmp_path: Path) -> None:
    journal = journal_at(tmp_path, watched(), Steps())
    journal.begin(NOW_MS, restored=False, looked=lambda: None)
    journal.lost(LATER_MS, LATER_MS)
    assert journal.resumes(LATER_MS) is None
    journal.close(LATER_MS, LATER_MS)
    ends = [one for one in checked(records_of(tmp_path)) if one.get("end")]
    assert [(one["no_topics"], one.get("looked")) for one in ends] == [(True, None)] * len(ends)
    assert ends
    assert journal_at(tmp_path, Observed(), Steps()).restore(LATER_MS) is None
