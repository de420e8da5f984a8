"""The journal of random answers tells what the tables hold, and after a whole round what the name server showed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rocketns.collect.observed.groups import Groups
from rocketns.collect.observed.routes import Routes
from rocketns.collect.observed_journal import ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.journal.effects import Effects
from rocketns.journal.reading.verifying import check as verify
from rocketns.routeinfo.events import Event
from tests.collect.observed.journals import NOW_MS, NS, Steps, checked, journal_at, memory_journal, records_of
from tests.collect.observed.shown import COMMON, TOPICS, Shown, read_all, states
from tests.journal.replay import State, check_sequence

ANSWERS = st.tuples(st.sampled_from(("groups", "names", *TOPICS, COMMON)), states(), st.integers(0, 70_000))
SMALL = {"journal_buffer_bytes": 64 * 1024, "journal_rotation_seconds": 100, "journal_snapshot_bytes": 4_096}


def read(observed: Observed, what: str, shown: Shown) -> list[Event]:
    """One answer of a server that is in this state."""
    if what == "groups":
        return observed.groups(shown.answered_groups())
    if what == "names":
        return observed.topic_names(list(shown.queues))
    return observed.route(what, shown.route(what))


@given(st.lists(ANSWERS, max_size=12))
def test_after_each_answer_the_journal_tells_what_the_tables_hold(answers: list[tuple[str, Shown, int]]) -> None:
    observed, steps, state, now_ms = Observed(), Steps(), State(), NOW_MS
    with memory_journal(observed, steps, **SMALL) as (journal, writer):
        journal.begin(now_ms, restored=False)
        for what, shown, later_ms in answers:
            since_ms, now_ms = now_ms, now_ms + later_ms
            journal.record(read(observed, what, shown), now_ms, since_ms)
            journal.tick(now_ms)
            steps.run()
            journal.tick(now_ms)
            state.apply(checked(writer.take())).check(observed.tables)


ROUNDS = st.lists(states(), min_size=1, max_size=5)


@given(ROUNDS, st.booleans())
def test_a_whole_round_is_what_the_server_shows(rounds: list[Shown], begins_late: bool) -> None:
    observed, steps, state = Observed(), Steps(), State()
    with memory_journal(observed, steps) as (journal, writer):
        if begins_late:
            read_all(observed, rounds[0])
        journal.begin(NOW_MS, restored=False)
        for number, shown in enumerate(rounds):
            journal.record(read_all(observed, shown), NOW_MS + number, NOW_MS)
            steps.run()
            journal.tick(NOW_MS + number)
            assert state.apply(checked(writer.take())).shown() == shown.expected()
    assert observed.left_out == 0


@given(states(), states())
def test_the_same_answers_again_change_nothing(first: Shown, second: Shown) -> None:
    observed = Observed()
    for shown in (first, second):
        read_all(observed, shown)
        assert read_all(observed, shown) == []


ENDS = st.sampled_from(("close", "lost", "kill"))


@given(st.lists(st.tuples(st.lists(states(), min_size=1, max_size=3), ENDS), min_size=1, max_size=4))
def test_each_boot_continues_or_begins_anew_and_tells_the_same(boots: list[tuple[list[Shown], str]]) -> None:
    """A lost server keeps the tables, the others are restarts of the collector."""
    with tempfile.TemporaryDirectory() as folder:
        root, steps, observed, now_ms = Path(folder), Steps(), Observed(), NOW_MS
        journal, last = journal_at(root, observed, steps), Shown()
        for rounds, how in boots:
            since_ms = journal.resumes(now_ms)
            last_ms = now_ms if since_ms is None else since_ms
            if since_ms is None:
                read_all(observed, rounds[0])
            journal.begin(now_ms, restored=since_ms is not None)
            for last in rounds:
                now_ms += 1_000
                journal.record(read_all(observed, last), now_ms, last_ms)
                steps.run()
                journal.tick(now_ms)
                last_ms = now_ms
            now_ms += 1_000
            observed, journal = _end(journal, how, root, now_ms, last_ms, observed)
        journal.close(now_ms, now_ms)
        _check_files(root, last)


def _end(
    journal: ObservedJournal, how: str, root: Path, now_ms: int, since_ms: int, observed: Observed
) -> tuple[Observed, ObservedJournal]:
    """The tables and the journal with which the next boot begins."""
    if how == "lost":
        journal.lost(now_ms, since_ms)
        return observed, journal
    if how == "close":
        journal.close(now_ms, since_ms)
    else:
        kill(journal)
    observed = Observed()
    journal = journal_at(root, observed, Steps())
    journal.restore(now_ms)
    return observed, journal


def kill(journal: ObservedJournal) -> None:
    """What the last tick handed over is in an open file."""
    running = journal._journal
    assert running is not None
    assert running.writer.wait_until_settled(60)
    running.writer.stop(60)


def _check_files(root: Path, last: Shown) -> None:
    records = checked(records_of(root))
    by_boot = {one["boot"]: [other for other in records if other["boot"] == one["boot"]] for one in records}
    for boot in by_boot.values():
        check_sequence(boot)
    assert State(lenient=True).apply(records).shown() == last.expected()
    found = verify(root, NS)
    assert found.faults == [], found


READING = (test_a_whole_round_is_what_the_server_shows, (ROUNDS, st.booleans()))
RECORDING = (test_after_each_answer_the_journal_tells_what_the_tables_hold, (st.lists(ANSWERS, max_size=12),))


@pytest.mark.parametrize(
    ("where", "step"),
    [
        *((Groups, name) for name in ("_remove", "_leave", "_join", "_move", "_forget_filters")),
        *((Routes, name) for name in ("_queues", "_static", "_end_mapping", "_filters", "names")),
        *((Effects, name) for name in ("_join", "_down", "_topics_put", "_topics_deleted", "_mappings_put", "_settle")),
    ],
)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, where: type, step: str) -> None:
    monkeypatch.setattr(where, step, lambda *_: [])
    test, drawn = RECORDING if where is Effects else READING
    quickly = settings(max_examples=5_000, phases=(Phase.generate,), database=None)  # most need 10 to 80
    with pytest.raises((Exception, ExceptionGroup)):
        quickly(given(*drawn)(test.hypothesis.inner_test))()  # type: ignore[attr-defined]
