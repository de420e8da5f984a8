"""`rocketns audit explain`: the route that a name server answered at a time, from the fewest records that show it: of
its journal, however damaged, of ingested events, and of observers."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from pyspark.sql import SparkSession

from rocketns.journal.lines import records_of
from rocketns.pipeline.clocks.estimates import estimates
from rocketns.pipeline.contract.times import HOUR_US
from rocketns.pipeline.moment.answers import explained_route
from rocketns.pipeline.moment.around import causes, lost_before
from rocketns.pipeline.moment.recorded import Recorded, Route, routes_at
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.results import EVENTS_FOLDER
from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo import topics as topic_requests
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.view import pick_up_route
from tests.journal.memory import BOOT_MS, memory_journal, run_work
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    Journals,
    Record,
    told_of,
    topic,
    write_files,
)
from tests.routeinfo.manager import READ_ONLY, Manager, table_of
from tests.routeinfo.manager import Broker as Registering
from tests.support.histories import damaged_line

TOPICS = ("T", "U", "rmq_sys_SYNC_BROKER_MEMBER_ba")
SNAPSHOT_EVERY = 25  # steps
# known, queues (broker, r, w, p, s), groups (broker, cluster, ((id, address) …)): ROUTES without the switch
Answer = tuple[bool, list[tuple[Any, ...]], list[tuple[Any, ...]]]


class Served(NamedTuple):
    """The records, and after each step: its time in us and the answer for each topic."""

    records: list[Record]
    answers: list[tuple[int, dict[str, Answer]]]


def served(seed: int, steps: int) -> Served:
    chance, manager = random.Random(seed), Manager()
    journal, writer = memory_journal(manager.tables)
    epoch_ms = BOOT_MS
    answers = []
    for number in range(steps):
        ms = chance.choice((1, 50, 20_000))
        manager.now_ms += ms
        epoch_ms += ms
        _step(chance, manager)
        journal.record(list(manager.events), manager.now_ms, epoch_ms)
        manager.events.clear()
        if number % SNAPSHOT_EVERY == 0:
            epoch_ms += 3_600_000
            journal.tick(epoch_ms)
            run_work(journal)
        answers.append((epoch_ms * 1000, {topic: _answer(manager, topic) for topic in TOPICS}))
    journal.buffer.flush(epoch_ms)
    return Served(writer.take(), answers)


def _step(chance: random.Random, manager: Manager) -> None:
    name, number = chance.choice(("ba", "bb")), chance.choice((0, 1, 2))
    broker = Registering(
        "C", name, f"{name}:{chance.choice((number, 9))}", number, acting=chance.choice((True, True, False))
    )
    draw = chance.random()
    if draw < 0.5:
        sizes = [queue_data(chance.choice((4, 8)), 4, chance.choice((4, 6)), chance.choice((0, 1))) for _ in TOPICS]
        wanted = {topic: size for topic, size in zip(TOPICS, sizes, strict=True) if chance.random() < 0.8}
        is_refused = chance.random() < 0.2  # unless the id is registered; the switches of the group change
        manager.register(broker.next_version(), table_of("base", **({} if is_refused else wanted)))
    elif draw < 0.65:
        manager.unregister(broker)
    elif draw < 0.75:
        manager.note(manager.tables.refresh("C", broker.addr, manager.now_ms))
    elif draw < 0.8:
        manager.unregister(broker.leaving(Cause.CHANNEL_CLOSE))
    elif draw < 0.85:
        manager.now_ms += 121_000
        manager.scan()
    elif draw < 0.9:
        manager.note(topic_requests.delete_topic(manager.tables, chance.choice(TOPICS), None))
    else:
        change = chance.choice((topic_requests.wipe_write_perm, topic_requests.add_write_perm))
        manager.note(change(manager.tables, name)[1])


def _answer(manager: Manager, topic: str) -> Answer:
    route = pick_up_route(manager.tables, manager.config, topic)
    if route is None:
        return True, [], []
    queues = [
        (name, data.read_queue_nums, data.write_queue_nums, data.perm, data.topic_sys_flag)
        for name, data in route.queue_datas
    ]
    groups = [(g.broker_name, g.cluster, sorted(g.broker_addrs.items())) for g in route.broker_datas]
    return True, queues, groups


@pytest.mark.parametrize("asked", TOPICS)
def test_the_answer_is_what_the_name_server_answered_then(asked: str) -> None:
    """The tables of a name server under random requests. Each queried moment is a journal of its own, shifted so
    that it comes at the same time; every second one begins in the middle, with a snapshot still to come."""
    chance, at = random.Random(asked), 2_000_000_000 * SECOND
    history = served(seed=3, steps=300)
    ends = [r["ts"] for r in history.records if r.get("end")]
    journals: Journals = {}
    wanted: dict[str, Answer] = {}
    for number, (ts, answers) in enumerate(chance.sample(history.answers, 40)):
        name = f"{number:02}"
        first = max((end for end in ends if end <= ts), default=0) if number % 2 else 0
        told = [r for r in history.records if r["ts"] >= first]
        journals[name] = [{**r, "ts": r["ts"] + at - ts} for r in told]
        wanted[name] = answers[asked]
    routes = routes_at(told_of(journals, asked), asked, at, acting_masters=True)
    found = {r.ns: (r.known, r.queues, [(g.broker, g.cluster, sorted(g.addrs)) for g in r.groups]) for r in routes}
    assert found == wanted
    assert len({repr(answer) for answer in wanted.values()}) > 10


def test_a_registration_that_was_not_accepted_may_have_ended_an_acting_master() -> None:
    """A slave shows as master where its group knows acting masters. The last registration decides that, also a refused
    one."""
    manager = Manager()
    journal, writer = memory_journal(manager.tables)
    slave = Registering("C", "b", "b:1", 1)
    manager.register(slave, table_of("T", T=READ_ONLY, U=READ_ONLY))
    journal.record(list(manager.events), manager.now_ms, BOOT_MS)
    manager.events.clear()
    result = manager.register(slave.but(addr="b:2", id=2, acting=False), table_of("T"))
    assert result.refused
    journal.record(list(manager.events), manager.now_ms, BOOT_MS + 1_000)
    journal.buffer.flush(BOOT_MS + 2_000)
    told = told_of({"n1": writer.take()}, "T")
    shown = [routes_at(told, "T", at * 1_000, acting_masters=True)[0] for at in (BOOT_MS + 500, BOOT_MS + 1_500)]
    assert [route.groups[0].addrs for route in shown] == [[(0, "b:1")], [(1, "b:1")]]


def test_explain_distinguishes_unknown_from_absent() -> None:
    broker = Broker("broker-a", "10.0.0.1:10911")
    fleet = {ns: Journal(0, ns) for ns in ("down", "late", "none", "quiet", "silent")}
    fleet["down"].register(1 * SECOND, broker, [topic("T")])
    fleet["down"].stop(50 * SECOND)
    fleet["late"] = Journal(200 * SECOND, "late")
    fleet["none"].register(1 * SECOND, broker, [topic("U")])
    fleet["none"].heartbeat(99 * SECOND, broker)
    fleet["quiet"].register(1 * SECOND, broker, [topic("T")])
    fleet["quiet"].heartbeat(1000 * SECOND, broker)
    fleet["silent"].register(1 * SECOND, broker, [topic("T")])
    told = told_of({ns: journal.records for ns, journal in fleet.items()}, "T")
    found = {r.ns: (r.known, [q.broker for q in r.queues]) for r in routes_at(told, "T", 130 * SECOND)}
    assert found == {
        "down": (False, []),
        "late": (False, []),
        "none": (True, []),
        "quiet": (True, ["broker-a"]),
        "silent": (False, []),
    }


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return [orjson.dumps(record) for record in served(7, 60).records]


def explained_lines(lines: list[bytes], *, ingested: bool) -> list[Route]:
    """As `explain` works. ``ingested``: as from Parquet, where a missing column is None."""
    recorded = Recorded()
    records = list(records_of(b"\n".join(lines) + b"\n", "n1", "2023-11-14"))
    columns = {name: None for record in records for name in record}
    recorded.add((columns | record if ingested else record for record in records), "T", 0)
    recorded = recorded.sorted()
    at = max(record["ts"] for record in records)
    estimates(recorded.days, recorded.shown(), recorded.heard)
    causes(recorded, at)
    lost_before(recorded, at)
    return routes_at(recorded.corrected({}).until(at), "T", at, acting_masters=True)


@pytest.mark.parametrize("ingested", [False, True], ids=["journal", "ingested"])
def test_any_line_may_be_damaged(lines: list[bytes], ingested: bool) -> None:
    for seed in range(300):
        chance, some = random.Random(seed), list(lines)
        for number in chance.sample(range(len(some)), 3):
            some[number] = damaged_line(chance, some[number])
        assert [route.ns for route in explained_lines(some, ingested=ingested)] == ["n1"], seed


BOOT = DAY_START // 1000
MEMBER = {"cluster": "c", "broker": "b", "addr": "10.0.0.1:10911", "bid": 0, "acting": False}


def at(second: int) -> int:
    return DAY_START + second * SECOND


def watched(*changes: tuple[int, int, dict[str, Any]], stop: tuple[int, int] | None = None) -> list[Record]:
    """A boot of an observer that begins with topic T on broker b; changes: second, since which second, the record."""
    told: list[tuple[int, dict[str, Any]]] = [
        (0, {"ev": "open", "ns": "n", "file": 1, "rotate_s": 600}), (0, {"ev": "start", "ns": "n", "observed": True}),
        (0, {"ev": "snap", "snap": 3, "part": 0, **MEMBER}),
        (0, {"ev": "snap", "snap": 3, "part": 1, "broker": "b", "topics": [topic("T")]}),
        (0, {"ev": "snap", "snap": 3, "part": 2, "end": True}),
        *((second, {**record, "since": at(since)}) for second, since, record in changes),
    ]  # fmt: skip
    told += [(stop[0], {"ev": "stop", "since": at(stop[1])})] if stop else [(600, {"ev": "alive"})]
    return [{"boot": BOOT, "seq": seq, "ts": at(second), **record} for seq, (second, record) in enumerate(told, 1)]


CHANGED = {"ev": "tput", "broker": "b", "cause": "observed", "topics": [topic("T", r=8)]}


def explained(tmp_path: Path, second: int, **journals: list[Record]) -> list[str]:
    write_files(journals, tmp_path)
    return explained_route(None, str(tmp_path), None, "T", at(second))


def test_it_says_between_which_looks_a_route_changed(tmp_path: Path) -> None:
    lines = explained(tmp_path, 200, n1=watched((100, 95, CHANGED)))
    assert "times are those of the clock of what watched the name servers from outside" in lines
    assert "  b: 8 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911" in lines
    assert any(
        "since a moment between 2026-01-01T00:01:35.000Z and 2026-01-01T00:01:40.000Z (observed;" in line
        for line in lines
    )


@pytest.mark.parametrize(("second", "said"), [(95, False), (96, True), (99, True), (100, False)])
def test_between_the_looks_it_says_that_the_change_may_have_come(tmp_path: Path, second: int, said: bool) -> None:
    lines = explained(tmp_path, second, n1=watched((100, 95, CHANGED)))
    assert any("so maybe before this moment" in line for line in lines) is said
    assert any("8 read queues" in line for line in lines) is (second == 100)


GOOD = {"boot": 1, "seq": 2, "ts": 3, "ev": "tput", "broker": "b", "topics": [{"t": "T", "r": 4}], "new": {}}


@pytest.mark.parametrize(
    "line",
    [
        b'{"boot":1,"seq":2', b"[]", b"7", b"\xff", {"seq": None}, {"ts": "3"}, {"seq": 2.5}, {"boot": True},
        {"topics": {"t": "T"}}, {"topics": ["T"]}, {"topics": [{"t": "T", "r": "4"}]}, {"bid": 2**31},
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_left_out(line: object) -> None:
    wrong = line if isinstance(line, bytes) else json.dumps(GOOD | line).encode()  # type: ignore[operator]
    good = json.dumps(GOOD).encode()
    found = list(records_of(good + b"\n" + wrong + b"\n" + good, "n", "day"))
    assert found == [{**GOOD, "ns": "n", "dt": "day"}] * 2


A = Broker("broker-a", "10.0.0.1:10911")
AHEAD = {"n1": 0, "n2": 47 * SECOND}
CHANGE = DAY_START + 20 * HOUR_US
ROTATE_US = 600 * SECOND


class Fleet(NamedTuple):
    """Folders: the whole journal, the events ingested from all of it, and those from its first ten hours."""

    journal: Path
    out: Path
    early: Path


def journal_of(ns: str) -> Journal:
    ahead = AHEAD[ns]
    journal = Journal(DAY_START + ahead, ns)
    for beat in range(30 * 60):
        true = DAY_START + beat * 60 * SECOND
        if beat and beat % 10 == 0:
            journal.open_file(true + ahead)
        if beat % 60 == 0 and not (ns == "n2" and 10 <= beat // 60 < 25):
            journal.snapshot(true + ahead)
        if ns == "n1" and true == CHANGE - ROTATE_US + 120 * SECOND:
            journal.lose(true + ahead)
        if ns == "n1" and beat in (18 * 60 + 5, 18 * 60 + 6):  # so that n1, with more heartbeats, is the reference
            journal.heartbeat(true, A, version=beat // 20)
        journal.register(true + 7 * SECOND + ahead, A, [topic("T", 8 if true >= CHANGE else 4)], version=beat // 20)
    return journal


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("around")
    found = Fleet(folder / "journal", folder / "out", folder / "early")
    paths = write_files({ns: journal_of(ns).records for ns in AHEAD}, found.journal)
    for path in paths:
        if int(path.stem.rpartition("-")[2]) <= 60:
            copy = folder / "first" / path.relative_to(found.journal)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    ingest(spark, str(found.journal), str(found.out / EVENTS_FOLDER))
    ingest(spark, str(folder / "first"), str(found.early / EVENTS_FOLDER))
    return found


@pytest.fixture(scope="module")
def of_journal(fleet: Fleet) -> list[str]:
    """Just after the change. The ingested events end before it."""
    return explained_route(None, str(fleet.journal), str(fleet.early), "T", CHANGE + 20 * SECOND)


@pytest.mark.slow
def test_times_are_by_corrected_clocks(of_journal: list[str]) -> None:
    """By its own clock n2 knew of the change 27 s after the moment."""
    assert "  n2: its clock is +47 s off (from versions, known to 0 s)" in of_journal
    assert [line.strip() for line in of_journal if "read queues" in line] == [
        "broker-a: 8 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911"
    ] * 2
    assert sum("since 2026-01-01T20:00:07.000Z (heartbeat" in line for line in of_journal) == 2


@pytest.mark.slow
@pytest.mark.parametrize("by_spark", [False, True])
def test_ingested_events_give_the_same_answer(
    spark: SparkSession, fleet: Fleet, of_journal: list[str], *, by_spark: bool
) -> None:
    found = explained_route(spark if by_spark else None, None, str(fleet.out), "T", CHANGE + 20 * SECOND)
    assert found[0].endswith(f"from {fleet.out}/{EVENTS_FOLDER}")
    assert found[1:] == of_journal[1:]


def with_open_files(fleet: Fleet, folder: Path) -> Path:
    """The journal while the files of the change are still being written, each with half a line at its end."""
    shutil.copytree(fleet.journal, folder)
    for path in sorted(folder.rglob("*.jsonl")):
        number = int(path.stem.rpartition("-")[2])
        if number == 121:
            path.write_bytes(path.read_bytes() + b'{"boot":1,"se')
            path.rename(path.with_name(f".open-{path.stem}"))
        elif number > 121:
            path.unlink()
    return folder


@pytest.mark.slow
def test_a_file_that_is_still_being_written_tells_too(fleet: Fleet, of_journal: list[str], tmp_path: Path) -> None:
    journal = with_open_files(fleet, tmp_path / "journal")
    found = explained_route(None, str(journal), str(fleet.early), "T", CHANGE + 20 * SECOND)
    assert found[1:] == of_journal[1:]


@pytest.mark.slow
def test_lost_records_are_told_until_the_next_snapshot(fleet: Fleet, of_journal: list[str]) -> None:
    warning = "  records are missing since 2026-01-01T19:50:07.000Z, so this may be out of date"
    between = explained_route(None, None, str(fleet.out), "T", CHANGE - 300 * SECOND)
    assert between.count(warning) == 1
    assert between[between.index(warning) - 2].startswith("  broker-a: 4 read queues")
    assert warning not in of_journal
