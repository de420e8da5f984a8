"""The journal of a watched name server tells what the tables hold; how its boots begin, end and continue."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.collect.observed_journal import STATE_AGE_MS_MAX, ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.config.journal import JournalConfig
from rocketns.journal import journal as journals
from rocketns.journal.buffer import Buffer
from rocketns.journal.encoding import unescaped
from rocketns.journal.segments import Store
from rocketns.pipeline.cli.verify import check as verify
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.routeinfo.events import Event
from tests.collect.test_observed import MORE, QUEUES, A, B, group, route, watched
from tests.journal.memory import MemoryWriter
from tests.journal.replay import Record, State, check_columns, check_sequence, kinds, parsed

NS = "java1"
NOW_MS = 1_700_000_000_000
CHANGES = {"reg", "down", "tput", "tdel", "map", "group", "live", "stop"}
NEVER = {"hb", "doubt", "lookup", "admin", "refused", "stall", "list"}
HIDDEN = {"gap", "timeout_ms", "ha", "dvt", "dvc", "dvs", "from_host"}


class Steps:
    """What the journal does later, when it is `run`."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def __call__(self, _seconds: float, step: Callable[[], None]) -> None:
        self._waiting.append(step)

    def run(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()


@contextmanager
def memory_journal(
    observed: Observed, steps: Steps, **config: object
) -> Iterator[tuple[ObservedJournal, MemoryWriter]]:
    """A journal that has not begun. All of its boots write into one writer."""
    writer = MemoryWriter()
    settings = JournalConfig(journal_path="/nowhere", **config)  # type: ignore[arg-type]
    with patch("rocketns.journal.journal.Writer", lambda *_: writer):
        yield ObservedJournal(settings, NS, observed, steps), writer


def journal_at(root: Path, observed: Observed, steps: Steps) -> ObservedJournal:
    return ObservedJournal(JournalConfig(journal_path=str(root)), NS, observed, steps)


def records_of(root: Path) -> list[Record]:
    """All records of the journal's files."""
    return [one for _, path in Store(root, NS).everything() for one in parsed(path.read_bytes())]


def checked(records: list[Record]) -> list[Record]:
    """Each record is one that an observer may write. Returned with all texts as they were."""
    for one in records:
        check_columns(one)
        assert one["ev"] not in NEVER, one
        assert not HIDDEN & one.keys(), one
        assert one.get("cause") in (None, "observed", "register"), one
        assert "since" in one or one["ev"] not in CHANGES, one
        assert one.get("since", 0) <= one["ts"], one
        assert "since" not in one or one["ev"] in CHANGES | {"kv", "config"}, one
    return [unescaped(one) if one.get("escaped") else one for one in records]


BROKERS, CLUSTERS, TOPICS = ("b1", "b2", "b\ud800"), ("c1", "c2"), ("t1", "t2", 't"\\', "t\ud83d")
ADDRS = tuple(f"10.0.0.{number}:10911" for number in range(1, 6))


@dataclass(frozen=True)
class Shown:
    """The state of a name server."""

    groups: dict[str, BrokerData] = field(default_factory=dict)
    queues: dict[str, dict[str, QueueData]] = field(default_factory=dict)

    def route(self, topic: str) -> TopicRouteData | None:
        """The answer to a lookup."""
        if topic not in self.queues:
            return None
        groups = [self.groups[name].copy() for name in self.queues[topic]]
        return TopicRouteData(list(self.queues[topic].items()), groups, {})

    def answered_groups(self) -> dict[str, BrokerData]:
        return {name: group.copy() for name, group in self.groups.items()}

    def expected(self) -> dict[str, Any]:
        """As `tests.journal.replay.State.shown`."""
        groups = {name: (one.cluster, one.zone_name, one.enable_acting_master, one.broker_addrs)
                  for name, one in self.groups.items()}  # fmt: skip
        clusters: dict[str | None, set[str]] = {}
        for name, one in self.groups.items():
            clusters.setdefault(one.cluster, set()).add(name)
        return {"topics": self.queues, "mappings": {}, "groups": groups, "clusters": clusters,
                "lives": {}, "filters": {}}  # fmt: skip


def read_all(observed: Observed, shown: Shown) -> list[Event]:
    """A whole round: groups, names, and the route of each topic."""
    events = observed.groups(shown.answered_groups()) + observed.topic_names(list(shown.queues))
    return events + [event for topic in shown.queues for event in observed.route(topic, shown.route(topic))]


_queues = st.builds(QueueData, *(st.sampled_from((0, 4, 8)) for _ in range(4)))


@st.composite
def groups(draw: st.DrawFn) -> dict[str, BrokerData]:
    """An address has one id in a group, and may be in several groups."""
    found = {}
    for name in draw(st.lists(st.sampled_from(BROKERS), unique=True)):
        addrs = draw(st.lists(st.sampled_from(ADDRS), min_size=1, max_size=3, unique=True))
        ids = draw(st.lists(st.integers(0, 3), min_size=len(addrs), max_size=len(addrs), unique=True))
        zone, acting = draw(st.sampled_from((None, "z"))), draw(st.booleans())
        found[name] = BrokerData(
            draw(st.sampled_from(CLUSTERS)), name, dict(zip(ids, addrs, strict=True)), zone, acting
        )
    return found


@st.composite
def states(draw: st.DrawFn) -> Shown:
    """A state without contradictions."""
    found = draw(groups())
    if not found:
        return Shown()
    brokers = st.sampled_from(list(found))
    queues = {topic: draw(st.dictionaries(brokers, _queues, min_size=1))
              for topic in draw(st.lists(st.sampled_from(TOPICS), unique=True))}  # fmt: skip
    return Shown(found, queues)


ANSWERS = st.tuples(st.sampled_from(("groups", "names", *TOPICS)), states(), st.integers(0, 70_000))
SMALL = {"journal_buffer_bytes": 64 * 1024, "journal_rotation_seconds": 100, "journal_snapshot_bytes": 4_096}


def read_one(observed: Observed, what: str, shown: Shown) -> list[Event]:
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
        journal.begin(now_ms, looked, restored=False)
        for what, shown, later_ms in answers:
            since_ms, now_ms = now_ms, now_ms + later_ms
            journal.record(read_one(observed, what, shown), now_ms, since_ms)
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
        journal.begin(NOW_MS, looked, restored=False)
        for number, shown in enumerate(rounds):
            journal.record(read_all(observed, shown), NOW_MS + number, NOW_MS)
            steps.run()
            journal.tick(NOW_MS + number)
            assert state.apply(checked(writer.take())).shown() == shown.expected()
    assert observed.left_out == 0


ENDS = st.sampled_from(("lost", "close", "kill"))


@given(st.lists(st.tuples(st.lists(states(), min_size=1, max_size=3), ENDS), min_size=1, max_size=4))
def test_each_boot_continues_or_begins_anew_and_tells_the_same(boots: list[tuple[list[Shown], str]]) -> None:
    """A lost server keeps the tables, the others are restarts of the collector."""
    with tempfile.TemporaryDirectory() as folder:
        root, steps, observed, now_ms = Path(folder), Steps(), Observed(), NOW_MS
        journal, last = journal_at(root, observed, steps), Shown()
        for rounds, how in boots:
            resumes = journal.resumes(now_ms)
            last_ms = now_ms
            if not resumes:
                read_all(observed, rounds[0])
            journal.begin(now_ms, lambda: NOW_MS, restored=resumes)
            for last in rounds:
                now_ms += 1_000
                journal.record(read_all(observed, last), now_ms, last_ms)
                steps.run()
                journal.tick(now_ms)
                last_ms = now_ms
            now_ms += 1_000
            kill(journal) if how == "kill" else journal.end(now_ms, last_ms)
            if how != "lost":
                journal.finish()
                observed = Observed()
                journal = journal_at(root, observed, steps)
                journal.restore(now_ms)
        journal.finish()
        _check_files(root, last)


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


LATER_MS = NOW_MS + 1_000


def looked() -> int:
    """When each topic was looked at."""
    return NOW_MS


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
        journal.begin(NOW_MS, looked, restored=False)
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
        journal.begin(NOW_MS, looked, restored=False)
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


def test_topics_that_wait_for_room_have_the_first_moment_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "room_at_once", 1)
    observed, steps = watched(), Steps()
    with memory_journal(observed, steps) as (journal, writer):
        journal.begin(NOW_MS, looked, restored=False)
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


def test_a_lost_server_ends_the_boot_with_the_moment_of_the_last_look() -> None:
    observed, steps = watched("t"), Steps()
    with memory_journal(observed, steps) as (journal, writer):
        journal.begin(NOW_MS, looked, restored=False)
        steps.run()
        journal.end(LATER_MS + 30_000, LATER_MS)
        stop = plain(checked(writer.take()))[-1]
        assert stop == {"ts": (LATER_MS + 30_000) * 1000, "since": LATER_MS * 1000, "ev": "stop"}
        assert journal.resumes(LATER_MS + 60_000)
        journal.begin(LATER_MS + 60_000, looked, restored=True)
        assert of_kind(writer.take(), "start")[0]["restored"] is True


def test_a_boot_whose_end_cannot_be_written_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that stays full."""
    with memory_journal(watched(), Steps()) as (journal, writer):
        journal.begin(NOW_MS, looked, restored=False)
        monkeypatch.setattr(writer, "stop", lambda _within_s: False)
        journal.end(LATER_MS, LATER_MS)
        journal.finish()
        assert journal.is_cut
        assert not journal.resumes(LATER_MS)


@pytest.mark.parametrize(
    ("later_ms", "resumes"), [(STATE_AGE_MS_MAX, True), (STATE_AGE_MS_MAX + 1, False), (-1, False)]
)
def test_a_state_of_an_hour_ago_is_too_old(later_ms: int, resumes: bool) -> None:
    steps = Steps()
    with memory_journal(watched(), steps) as (journal, _):
        journal.begin(NOW_MS, looked, restored=False)
        steps.run()
        journal.end(NOW_MS, NOW_MS)
        assert journal.resumes(NOW_MS + later_ms) is resumes


def test_a_boot_is_not_continued_before_its_snapshot_was_whole_or_where_records_were_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = Steps()
    with memory_journal(watched("t"), steps) as (journal, _):
        monkeypatch.setattr(journals, "STEP_ENTRIES", 1)
        journal.begin(NOW_MS, looked, restored=False)
        journal.end(NOW_MS, NOW_MS)
        assert not journal.resumes(NOW_MS)
        for is_lost in (False, True):
            journal.begin(NOW_MS, looked, restored=is_lost)
            steps.run()
            assert journal._journal is not None
            if is_lost:
                journal._journal.buffer.lose("test")
            journal.end(NOW_MS, NOW_MS)
            assert journal.resumes(NOW_MS) is not is_lost


def begun(root: Path, observed: Observed, when: Callable[[], int] | None = looked) -> ObservedJournal:
    """A boot with its first snapshot."""
    steps = Steps()
    journal = journal_at(root, observed, steps)
    journal.begin(NOW_MS, when, restored=False)
    steps.run()
    return journal


def ended(journal: ObservedJournal, epoch_ms: int, since_ms: int) -> None:
    journal.end(epoch_ms, since_ms)
    journal.finish()


def restored(root: Path, epoch_ms: int) -> tuple[tuple[int, int] | None, Observed]:
    observed = Observed()
    return journal_at(root, observed, Steps()).restore(epoch_ms), observed


def test_a_restart_continues_from_the_last_look_and_the_oldest_one_at_a_topic(tmp_path: Path) -> None:
    ended(begun(tmp_path, watched("t"), lambda: NOW_MS - 90_000), LATER_MS + 500, LATER_MS)
    known, observed = restored(tmp_path, LATER_MS + 9_000)
    assert known == (LATER_MS, NOW_MS - 90_000)
    assert observed.tables == watched("t").tables


def test_a_restart_does_not_continue_from_half_a_first_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(begun(tmp_path, watched("old")), NOW_MS, NOW_MS)
    monkeypatch.setattr(journals, "STEP_ENTRIES", 1)
    journal = journal_at(tmp_path, watched("t"), Steps())
    journal.begin(LATER_MS, looked, restored=False)
    journal.tick(LATER_MS)
    kill(journal)
    assert restored(tmp_path, LATER_MS)[0] is None


def test_a_restart_does_not_continue_where_a_record_is_missing(tmp_path: Path) -> None:
    observed = watched("t")
    journal = begun(tmp_path, observed)
    journal.record(observed.route("t", route({"b": MORE})), LATER_MS, NOW_MS)
    ended(journal, LATER_MS, LATER_MS)
    assert restored(tmp_path, LATER_MS)[0] is not None
    (path,) = tmp_path.glob("v=1/*/*/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"ev":"tput"' not in line))
    assert restored(tmp_path, LATER_MS)[0] is None


def test_the_seals_of_all_boots_are_one_chain(tmp_path: Path) -> None:
    observed, steps = watched("t"), Steps()
    journal = journal_at(tmp_path, observed, steps)
    for boot in range(3):
        journal.begin(NOW_MS + boot * 10_000, looked, restored=boot > 0)
        steps.run()
        journal.record(observed.route("t", route({"b": QueueData(boot, 1, 6, 0)})), NOW_MS + boot * 10_000, NOW_MS)
        journal.end(NOW_MS + boot * 10_000 + 1, NOW_MS)
    journal.finish()
    found = verify(tmp_path, NS)
    assert (found.faults, found.tail) == ([], 0)
    assert found.seals >= 6
    assert State().apply(checked(records_of(tmp_path))).shown()["topics"] == {"t": {"b": QueueData(2, 1, 6, 0)}}


def test_a_boot_without_topics_says_so_and_is_not_continued(tmp_path: Path) -> None:
    journal = begun(tmp_path, watched(), None)
    ended(journal, LATER_MS, LATER_MS)
    assert not journal.resumes(LATER_MS)
    ends = [one for one in checked(records_of(tmp_path)) if one.get("end")]
    assert [(one["no_topics"], one.get("looked")) for one in ends] == [(True, None)] * len(ends)
    assert ends
    assert restored(tmp_path, LATER_MS)[0] is None
