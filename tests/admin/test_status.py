"""What the status says of the fleet and of the name server itself, and the ring of the last changes."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from sys import getsizeof
from types import SimpleNamespace
from typing import Any, get_args

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import eventually
from rocketns.admin import recent
from rocketns.admin.api import history
from rocketns.admin.api.copies import GROUPS_MAX, closed_groups
from rocketns.admin.api.paging import dumps
from rocketns.admin.api.reasons import (
    COMMAND_CHARACTERS_MAX,
    DAY_MS,
    DRAINS,
    LOST_MAX,
    PAUSES_MIN,
    STALL_MS,
    StatusScene,
    assess,
    lost_brokers,
)
from rocketns.admin.api.rows import BrokerStateRow, State
from rocketns.admin.api.status import own_name
from rocketns.admin.recent import WORDS, EventRow, Recent, worded
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import MISSING, NOT_READ, OWN, Disagreement, FleetState, Member, Part, Side, SideQueues
from rocketns.processor.context import Now
from rocketns.protocol.body.route import TopicQueueMappingInfo, queue_data
from rocketns.routeinfo import events as e
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from tests.admin.conftest import Ask, Broker, Managed, get

pytestmark = pytest.mark.usefixtures("no_old_numbers")

NO_BROKER = ("critical", "No broker is registered")
NOW_MS = 1_800_000_000_000


def reasons(scene: StatusScene) -> list[tuple[str, str]]:
    """The reasons that the status gives, without "no broker is registered"."""
    return [(one.level, one.text) for one in assess(scene) if (one.level, one.text) != NO_BROKER]


def read(managed: Managed) -> dict[str, Any]:
    """The status."""
    answer: dict[str, Any] = orjson.loads(get(managed, "status").body)
    return answer


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (14 * DAY_MS, []),
        (14 * DAY_MS - 1, [("attention", "The TLS certificate ends in 13 days: 2027-01-29 07:59:59 UTC ns.pem")]),
        (DAY_MS, [("attention", "The TLS certificate ends in 1 day: 2027-01-16 08:00:00 UTC ns.pem")]),
        (DAY_MS - 1, [("attention", "The TLS certificate ends within a day: 2027-01-16 07:59:59 UTC ns.pem")]),
        (0, [("critical", "The TLS certificate has ended: 2027-01-15 08:00:00 UTC ns.pem")]),
        (-DAY_MS, [("critical", "The TLS certificate has ended: 2027-01-14 08:00:00 UTC ns.pem")]),
    ],
)
def test_a_certificate_near_its_end_is_a_reason_to_look(ms: int, said: list[tuple[str, str]]) -> None:
    assert reasons(StatusScene(now_ms=NOW_MS, certificate_ends_ms=NOW_MS + ms, certificate_path="ns.pem")) == said


def test_the_journals_losses_are_a_trouble(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    managed = start_managed({"journalPath": tmp_path / "journal"})
    assert "journalLosing" not in [one["name"] for one in read(managed)["reasons"]]
    journal = managed.controller.journal
    assert journal is not None
    managed.call(lambda: journal.buffer.lose("the disk is full"))
    assert "The journal's buffer is full: 1 records are lost" in [one["text"] for one in read(managed)["reasons"]]


@pytest.mark.parametrize(("after_ms", "is_trouble"), [(599_000, True), (600_000, False)])
def test_refused_registrations_are_a_trouble_for_ten_minutes_whenever_somebody_looks(
    start_managed: Callable[..., Managed], after_ms: int, is_trouble: bool
) -> None:
    managed = start_managed({"rocketns.brokersMax": 1})
    with Broker(managed, "broker-a") as first, managed.connect() as other:
        first.register()
        body = register_body([topic_config("T")])
        fields = register_ext(broker="broker-b", addr="10.0.0.2:1", body=body)
        assert other.request(codes.REGISTER_BROKER, fields, body).code != 0
        managed.advance(after_ms)
        assert ("refusing" in [one["name"] for one in read(managed)["reasons"]]) == is_trouble


def test_the_limit_that_refused_a_registration_is_the_one_to_raise(start_managed: Callable[..., Managed]) -> None:
    """Though the tables have room for smaller ones."""
    managed = start_managed({"rocketns.routesMax": 6})
    with Broker(managed, "broker-a") as first, managed.connect() as other:
        first.register()
        body = register_body([topic_config(f"T{number}") for number in range(5)])
        fields = register_ext(broker="broker-b", addr="10.0.0.2:1", body=body)
        assert other.request(codes.REGISTER_BROKER, fields, body).code != 0
        (commands,) = [one["commands"] for one in read(managed)["reasons"] if one["name"] == "refusing"]
    assert commands == ["# rocketns.routesMax=6 is reached", "rocketns.routesMax=12"]


def test_a_broker_that_comes_and_goes_leaves_its_story_newest_first(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "broker-a") as broker:
        broker.register([f"t-{number}" for number in range(8)])
        broker.register([f"t-{number}" for number in range(8)])
        broker.unregister()
        managed.advance(0)
        rows = ask("events")["items"]
    assert [row["text"] for row in rows] == [
        "broker-a no longer has topics t-0, t-1, t-2, t-3, t-4 and 5 more",
        "broker-a (master) at 10.0.0.1:10911 is gone: it said that it stops (last heard 0 s before)",
        "broker-a (master) at 10.0.0.1:10911 registered",
        "broker-a has topics t-0, t-1, t-2, t-3, t-4 and 5 more",
    ]
    assert [row["seq"] for row in rows] == [4, 3, 2, 1]


def test_the_ring_is_bounded_in_changes_and_in_characters(managed: Managed, ask: Ask) -> None:
    with managed.connect() as client:
        for number in range(recent.EVENTS_MAX + 5):
            client.post(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k" * 4000, "value": number})
        for _ in range(recent.EVENTS_MAX + 5):
            client.receive()
    page = ask("events", limit=1, sort="seq")  # each item has an event, and the request for it another one
    first = recent.EVENTS_MAX + 11
    assert (page["total"], page["items"][0]["seq"], len(page["items"][0]["names"][1])) == (
        recent.EVENTS_MAX,
        first,
        300,
    )


HERE = Member(OWN, "rocketns", "", 1_000, 9_000, 2, 7)
OTHER = Member("10.0.0.2:9876", "other", "", 2_000, 9_000, 1, 7, differing_brokers=1)
LACKED = Disagreement(
    FactKind.BROKER, "broker-b", 5_000,
    (Side("C 0=10.1.0.2:10911", (OWN,), "C", {"0": "10.1.0.2:10911"}), Side(MISSING, ("10.0.0.2:9876",))),
    (Part.MISSING,), (), 213,
)  # fmt: skip
FOLLOWING = Disagreement(
    FactKind.TOPIC, "orders", 5_000,
    (Side("broker-b …", (OWN,), queues=(SideQueues("broker-b", 8, 8, 6, 0),)),
     Side("…", ("b",), queues=(SideQueues("broker-b"),))),
    (Part.BROKERS,), ("broker-b",), 213,
)  # fmt: skip


def test_a_disagreement_has_what_each_name_server_says(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER), (LACKED,))
    own = {"says": "C 0=10.1.0.2:10911", "members": [OWN], "cluster": "C", "addresses": {"0": "10.1.0.2:10911"},
           "queues": []}  # fmt: skip
    other = {"says": "missing", "members": ["10.0.0.2:9876"], "cluster": None, "addresses": {}, "queues": []}
    expected = {"kind": "broker", "name": "broker-b", "since": 5_000, "parts": ["missing"],
                "follows": [], "topics": 213, "sides": [own, other]}  # fmt: skip
    assert ask("disagreements", kind="broker")["items"] == [expected]
    assert ask("disagreements", kind="topic")["items"] == []


def test_a_name_server_that_was_not_read_yet_is_no_trouble() -> None:
    def found(error: str) -> list[str]:
        return [one.name for one in assess(StatusScene(fleet=FleetState(9_000, (HERE, replace(OTHER, error=error)))))]

    assert "unreadable" in found("refused")
    assert "unreadable" not in found(NOT_READ)


def test_topics_that_follow_from_a_missing_broker_are_apart_and_have_their_queues(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER), (LACKED, FOLLOWING))
    assert [one["name"] for one in ask("disagreements", follows="")["items"]] == ["broker-b"]
    (row,) = ask("disagreements", follows="broker-b")["items"]
    assert [side["queues"] for side in row["sides"]] == [
        [{"broker": "broker-b", "readQueues": 8, "writeQueues": 8, "permission": 6, "sysFlag": 0}],
        [dict.fromkeys(("readQueues", "writeQueues", "permission", "sysFlag")) | {"broker": "broker-b"}],
    ]
    assert "disagreeTopic" not in [one["name"] for one in ask("status")["reasons"]]


DOUBT = Doubt(DoubtReason.RESTORED, 0, 1, 0)
CHANGE = e.TopicChange("T", None, queue_data(8, 8, 6, 0))
TOLD: dict[str, tuple[e.Event, str]] = {
    "reg": (e.BrokerRegistered("C", "b", "a:1", 0, None, None, 1, None, None, None), "b (master) at a:1 registered"),
    "back": (e.BrokerHeartbeat("C", "a:1", 5, DOUBT), "a broker of C at a:1 is back: it sent a sign of life"),
    "down": (
        e.BrokerDown("C", "b", "a:1", 0, True, 1_500, e.Cause.EXPIRED),
        "b (master) at a:1 is gone: no heartbeat within its time-out (last heard 1.5 s before)",
    ),
    "doubt": (
        e.BrokerDoubted("C", "b", "a:1", 1, DOUBT, None),
        "b (slave 1) at a:1 is not confirmed: known from the journal only",
    ),
    "conflict": (e.BrokerConflict("C", "b", 0, "a:2", "a:1"), "b (master) at a:1 was refused: a:2 has its id"),
    "unregistered": (e.BrokerRefused("b", 0, "a:1"), "b (master) at a:1 was refused: it is not registered"),
    "tput": (e.TopicsPut("b", [CHANGE], e.Cause.REGISTER), "b has topics T"),
    "tdel": (e.TopicsDeleted("b", ["T", "U"], e.Cause.ADMIN), "b no longer has topics T, U"),
    "map": (e.MappingsPut("b", [("T", TopicQueueMappingInfo())]), "b has queue mappings of T"),
    "kv": (e.KvChanged("n", "{k}", None), "KV item n {k} was deleted"),
    "config": (e.ConfigChanged("tls.server.keyPassword", "secret"), "property tls.server.keyPassword is set"),
    "admin": (
        e.AdminRequested(216, 0, "a", "a:1", "ops", "key", (("topic", "T"),), None, None),
        "a:1 as ops sent DELETE_TOPIC_IN_NAMESRV: done",
    ),
    "refused": (
        e.RequestRefused(216, "admin", "not_granted", "a", None, None, True, 3, ()),
        "a was refused DELETE_TOPIC_IN_NAMESRV: not_granted (requests: 3)",
    ),
    "stall": (e.Stalled(2_000), "this name server did not run for 2 s"),
}  # fmt: skip
NOT_TOLD = {e.BrokerIdsLeft, e.GroupChanged, e.MinBrokerIdChanged, e.FleetDiffers}


def test_each_kind_with_words_is_told() -> None:
    recent = Recent()
    recent.watch([event for event, _ in TOLD.values()], Now(0, 0))
    assert {one.event: worded(one).text for one in recent.events} == {name: text for name, (_, text) in TOLD.items()}
    assert TOLD.keys() == WORDS.keys()
    assert {type(event) for event, _ in TOLD.values()} | NOT_TOLD == set(get_args(e.Event))


def row(state: State, silent_ms: int) -> BrokerStateRow:
    """Of a slave, in a group without a master."""
    columns: dict[str, Any] = {one.name: None for one in fields(BrokerStateRow)}
    known = {"broker": "b", "id": 1, "state": state, "silent_ms": silent_ms}
    return BrokerStateRow(**columns | known)


def test_nothing_is_critical_while_brokers_have_had_no_time_to_register() -> None:
    without_master = (row("live", 0),)
    for brokers in ((), without_master):
        assert assess(StatusScene(brokers))[0].level == "critical"
        for why in ("it starts", "the routes are being restored", "waitSecondsForService is not over"):
            (found,) = assess(StatusScene(brokers, not_ready=why))
            assert (found.level, found.name) == ("attention", "notReady")
    assert assess(StatusScene(without_master, not_ready=DRAINS))[0].level == "critical"


@pytest.mark.parametrize(
    ("silent_ms", "paused_ms_ago", "says"),
    [
        (66_001, 5_000, "Heartbeats are late since this name server did not run: b (master)"),
        (66_000 + STALL_MS, 66_000, "Heartbeats are late since this name server did not run: b (master)"),
        (66_001 + STALL_MS, 66_000, "Heartbeats are late: b (master)"),
        (66_001, 66_001, "Heartbeats are late: b (master)"),
    ],
)
def test_a_pause_of_this_server_stands_before_the_heartbeats_that_it_made_late(
    silent_ms: int, paused_ms_ago: int, says: str
) -> None:
    pause = EventRow(1, NOW_MS - paused_ms_ago, "stall", amount=STALL_MS)
    late = replace(row("late", silent_ms), id=0, late_ms=66_000)
    found = assess(StatusScene((late,), changes=[pause], now_ms=NOW_MS))
    assert [one.text for one in found] == ["This name server did not run for 3 seconds", says]


def test_a_master_that_was_moved_was_last_at_its_last_address() -> None:
    said = (("reg", "a:1"), ("reg", "a:2"), ("conflict", "a:3"))
    changes = [EventRow(number, 0, event, "C", "b", 0, address) for number, (event, address) in enumerate(said)]
    slave = row("live", 0)
    (found,) = assess(StatusScene((slave, replace(slave, broker="c")), changes=changes))
    assert found.text == "No master: b (last at a:2), c"


def pauses(*seconds_ms: tuple[int, int]) -> Recent:
    """A ring with a pause of so many ms at each second, after a change of KV."""
    recent = Recent()
    recent.watch([e.KvChanged("n", "k", "v")], Now(0, 0))
    for second, ms in seconds_ms:
        recent.watch([e.Stalled(ms)], Now(second * 1000, second * 1000))
    return recent


def test_pauses_of_ten_minutes_are_one_change_with_their_number_and_the_longest() -> None:
    ring = pauses((0, 1_000), (1, 2_500), (599, 1_200), (600, 1_100))
    assert [worded(one).text for one in ring.events] == [
        "KV item n k is v",
        "this name server did not run for 2.5 s, the longest of 3 pauses",
        "this name server did not run for 1.1 s",
    ]
    assert [one.seq for one in ring.events] == [1, 4, 5]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([(second, 1_500) for second in range(PAUSES_MIN - 1)], None),
        ([(second, 1_500) for second in range(PAUSES_MIN)], "overloaded"),
        ([(0, STALL_MS)], "stall"),
        ([(second, STALL_MS) for second in range(PAUSES_MIN)], "stall"),
    ],
)
def test_short_pauses_are_a_trouble_only_where_there_are_many(given: list[tuple[int, int]], name: str | None) -> None:
    found = assess(StatusScene(changes=pauses(*given).events, now_ms=60_000))
    assert [one.name for one in found if one.name != "noBroker"] == ([] if name is None else [name])


def test_a_name_that_a_terminal_would_not_show_makes_no_command() -> None:
    def commands(*names: str) -> tuple[str, ...]:
        found = assess(StatusScene(address="ns:9876", wiped=names))
        return next(one.commands for one in found if one.name == "wiped")

    assert commands("a; reboot") == ("mqadmin addWritePerm -n ns:9876 -b 'a; reboot'",)
    assert commands("a\nreboot", "\u202ea", "b" * COMMAND_CHARACTERS_MAX) == ()


def test_a_server_that_listens_everywhere_has_the_name_of_its_machine() -> None:
    def name(bound: str) -> str:
        return own_name(SimpleNamespace(name=bound))  # type: ignore[arg-type]

    own = socket.gethostname()
    shown = {"0.0.0.0:1": f"{own}:1", ":1": f"{own}:1", "10.0.0.1:1": "10.0.0.1:1", "[::1]:1": "[::1]:1"}
    assert {bound: name(bound) for bound in shown} == shown


def test_the_last_hour_counts_on_and_shows_what_there_was(
    start_managed: Callable[..., Managed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "PERIOD_S", 0.02)
    monkeypatch.setattr(history, "SAMPLES_MAX", 100_000)
    managed = start_managed()

    def rows() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = orjson.loads(get(managed, "history", sort="-at", limit=500).body)["items"]
        return found

    first = eventually(rows)[0]
    with Broker(managed, "broker-a") as broker:
        broker.register()
        broker.beat()
        for _ in range(70):  # one step would be a stall
            managed.advance(1_000)
        latest = eventually(
            lambda: next((row for row in rows() if row["late"] and row["at"] == first["at"] + 70_000), None)
        )
    grown = [latest[name] - first[name] for name in ("registrations", "lookups")]
    assert (grown, latest["late"]) == ([1, 0], 1)


def test_the_last_hour_is_a_ring_of_bounded_size(
    start_managed: Callable[..., Managed], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = history.HistoryRow(*[2**62 + number for number in range(len(fields(history.HistoryRow)))])
    bytes_of_row = getsizeof(row) + sum(getsizeof(getattr(row, one.name)) for one in fields(row))
    ring = deque([row] * history.SAMPLES_MAX)
    assert getsizeof(ring) + history.SAMPLES_MAX * bytes_of_row <= history.BYTES_MAX
    monkeypatch.setattr(history, "PERIOD_S", 0.02)
    monkeypatch.setattr(history, "SAMPLES_MAX", 2)
    managed = start_managed()
    managed.advance(30_000)

    def page() -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(get(managed, "history").body)
        return found

    eventually(lambda: page()["total"] == 2 and page()["items"][0]["at"] == managed.clock.now().epoch_ms)


OF_STATUS = 192 * 1024  # bytes that docs/design/limits.md leaves to the status in a message of the stream


def lost(names: list[str]) -> list[str]:
    changes = [EventRow(seq, 0, "down", name, name, 0, name, "expired") for seq, name in enumerate(names)]
    return [row.broker for row in lost_brokers((), changes, 0)]


def closed(names: list[str]) -> list[str]:
    table = {"t": {name: SimpleNamespace(perm=4) for name in names}}
    facts: Any = SimpleNamespace(tables=SimpleNamespace(topic_queue_table=table, broker_addr_table=set(names)))
    return [name for name in closed_groups(facts) if name is not None]


def test_at_most_a_hundred_are_named() -> None:
    names = [f"b{number:03}" for number in range(200)]
    assert lost(names) == names[: -1 - LOST_MAX : -1]
    assert closed(names) == names[:GROUPS_MAX]


def test_fewer_are_named_where_names_are_long_but_one_at_least() -> None:
    """JSON writes a control character in six bytes. A lost broker has three such names."""
    names = [f"{number:03}".ljust(4096, "\1") for number in range(200)]
    assert lost(names) == names[:-2:-1]
    assert closed(names) == names[:1]
    assert 4 * len(dumps(names[0])) <= OF_STATUS / 2
