"""Time travel: the route that a name server answered at a time, from its journal."""

from __future__ import annotations

import random

import pytest

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.moment.routes import routes_at
from tests.journal.memory import BOOT_MS, memory_journal
from tests.pipeline.duck import explain as duck
from tests.pipeline.frames import duck_events, duck_rows
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    Journals,
    random_journals,
    told_of,
    topic,
    worked_example,
)
from tests.pipeline.moment.served import TOPICS, Answer, served
from tests.routeinfo.manager import READ_ONLY, Manager, table_of
from tests.routeinfo.manager import Broker as Registering


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


def test_the_routes_are_those_of_the_independent_version() -> None:
    journals: Journals = {f"w-{ns}": records for ns, records in worked_example().items()}
    for seed in range(12):
        journals |= {f"{seed}-{ns}": records for ns, records in random_journals(seed).items()}
    db = duck_events(journals)
    at = DAY_START + 1800 * SECOND
    routes = routes_at(told_of(journals, "T"), "T", at)
    found = sorted(((r.ns, r.known, [tuple(q) for q in r.queues]) for r in routes), key=repr)
    assert found == duck_rows(db, duck.ROUTES.format(topic="T", at=at, silent=SILENT_AFTER_US))
    assert sum(bool(queues) for _, _, queues in found) > 5
