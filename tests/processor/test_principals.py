"""By principal: the takeover guard, the bounds of what a principal registers, and the trail of admin requests.

`tests/access` has what the guard decides.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns.access.classes import Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import Principal
from rocketns.journal.buffer import LARGE_BYTES
from rocketns.journal.encoding import request_record
from rocketns.processor.context import Now
from rocketns.processor.trail import DETAILED_PER_SECOND_MAX, EVERYBODY, SENDERS_MAX
from rocketns.protocol.codes import ResponseCode
from rocketns.protocol.command import Reply
from rocketns.routeinfo.admission import PrincipalBounds
from rocketns.routeinfo.events import AdminRequested, Cause, Event, RequestRefused
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from tests.processor.asking import START, Connection, World

OLD, NEW = "10.0.0.1:10911", "10.0.0.2:10911"
GROUP = "broker-a"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def register(world: World, addr: str, broker_id: int = 0, *, state: int = 1, **more: object) -> Reply:
    """From the broker's own host."""
    world.peer = Connection(f"{addr.partition(':')[0]}:1234", host=addr.partition(":")[0])
    body = register_body([topic_config("T"), topic_config("U")], data_version(state=state))
    ext = register_ext("c", GROUP, addr, broker_id, body, **more)
    return world.ask(103, ext, body)


def guarded(world: World, mode: Mode, *principals: Principal) -> World:
    """The world with a master, and a policy."""
    world.context.guard.policy = Policy(principals, takeover=mode)
    assert register(world, OLD).code == ResponseCode.SUCCESS
    world.context.drain_events()
    return world


def refusals(events: list[Event]) -> list[RequestRefused]:
    return [event for event in events if isinstance(event, RequestRefused)]


def test_an_enforcing_guard_refuses_and_touches_nothing(world: World) -> None:
    """Neither the sign of life of the broker that has the id, nor the switches of the group."""
    guarded(world, Mode.ENFORCE)
    before, world.now = world.state(), world.now._replace(ms=world.now.ms + 60_000)
    reply = register(world, NEW, zoneName="other", enableActingMaster=True)
    assert reply.code == ResponseCode.NO_PERMISSION
    assert "another live broker has this name and id" in (reply.remark or "")
    assert world.state() == before


def test_the_event_says_who_would_have_lost_what(world: World) -> None:
    register(guarded(world, Mode.ENFORCE), NEW, AccessKey="k1")
    (event,) = refusals(world.context.drain_events())
    fields = dict(event.fields)
    assert (event.host, event.access_key, event.is_enforced) == ("10.0.0.2", "k1", True)
    assert {name: fields[name] for name in ("holder", "brokerName", "brokerAddr", "brokerId")} == {
        "holder": OLD, "brokerName": GROUP, "brokerAddr": NEW, "brokerId": "0",
    }  # fmt: skip


# What a principal may register: each bound at its edge, who counts for it, and what a refusal leaves.

BUSY, SUCCESS = ResponseCode.SYSTEM_BUSY, ResponseCode.SUCCESS
TEAM = "team-a"


def bounded(world: World, mode: Mode = Mode.ENFORCE, principal: str | None = TEAM, **bounds: int) -> World:
    """The world with a policy that bounds the team. Requests are the principal's."""
    team = Principal(TEAM, frozenset({Access.BROKER}), bounds=PrincipalBounds(**bounds))
    world.context.guard.policy = Policy((team,), {Access.BROKER: mode})
    world.context.principals, world.context.access_key = (principal,) if principal else (), None
    return world


def register_topics(world: World, number: int, *topics: str, name: str | None = None, broker_id: int = 0) -> Reply:
    """Without topics it registers two of its own."""
    names = topics or (f"T{number}", f"U{number}")
    counter = len(topics)
    body = register_body([topic_config(topic) for topic in names], data_version(counter=counter))
    broker = name or f"broker-{number}"
    return world.ask(103, register_ext("c", broker, f"10.0.0.{number}:10911", broker_id, body), body)


def leave(world: World, number: int) -> None:
    request = UnregisterRequest("c", f"10.0.0.{number}:10911", f"broker-{number}", 0, Cause.UNREGISTER)
    unregister_brokers(world.context.tables, [request], world.now.ms)


def test_a_principal_may_have_so_many_live_brokers(world: World) -> None:
    bounded(world, brokers_max=2)
    assert [register_topics(world, number).code for number in (1, 2, 3)] == [SUCCESS, SUCCESS, BUSY]
    assert register_topics(world, 2).code == SUCCESS
    leave(world, 1)
    assert register_topics(world, 3).code == SUCCESS
    assert register_topics(world, 1).code == BUSY


def test_a_broker_counts_for_the_principal_that_registered_it_last(world: World) -> None:
    bounded(world, principal="another", brokers_max=1)
    assert register_topics(world, 1).code == SUCCESS
    world.context.principals, world.context.access_key = (TEAM,), None
    assert [register_topics(world, number).code for number in (1, 2)] == [SUCCESS, BUSY]
    assert world.context.tables.by_principal.keys() == {TEAM}


def test_a_sender_that_is_several_principals_registers_by_the_right_of_one_that_has_room(world: World) -> None:
    """Whichever the policy has first. A broker stays with its principal."""
    everybody = Principal("everybody", frozenset({Access.BROKER}), bounds=PrincipalBounds(brokers_max=1))
    fleet = Principal("fleet", frozenset({Access.BROKER}), bounds=PrincipalBounds(brokers_max=2))
    world.context.guard.policy = Policy((everybody, fleet), {Access.BROKER: Mode.ENFORCE})
    world.context.principals, world.context.access_key = ("everybody",), None
    assert [register_topics(world, number).code for number in (1, 2)] == [SUCCESS, BUSY]
    world.context.principals, world.context.access_key = ("everybody", "fleet"), None
    assert [register_topics(world, number).code for number in (2, 3, 4)] == [SUCCESS, SUCCESS, BUSY]
    leave(world, 1)
    assert [register_topics(world, number).code for number in (2, 3, 4)] == [SUCCESS] * 3
    by_principal = world.context.tables.by_principal
    assert {name: len(brokers) for name, brokers in by_principal.items()} == {"everybody": 1, "fleet": 2}


def test_a_principal_may_have_so_many_topics_on_all_its_broker_names(world: World) -> None:
    """Master and slave have one name: its topics count once. A topic of two names counts twice."""
    bounded(world, topics_max=5)
    assert register_topics(world, 1, "A", "B", "C", name="b").code == SUCCESS
    assert register_topics(world, 2, "A", "B", "C", name="b", broker_id=1).code == SUCCESS
    assert register_topics(world, 3, "A", "B", "D").code == BUSY
    assert register_topics(world, 3, "A", "B").code == SUCCESS
    assert register_topics(world, 1, "A", "B", "C", "E", name="b").code == BUSY
    assert "E" not in world.context.tables.topic_queue_table
    leave(world, 3)
    assert register_topics(world, 1, "A", "B", "C", "E", name="b").code == SUCCESS


def test_a_principal_may_have_so_many_bytes_of_topic_names(world: World) -> None:
    bounded(world, bytes_max=20)
    assert register_topics(world, 1, "a" * 8, "Ü" * 2).code == SUCCESS
    assert register_topics(world, 2, "b" * 5, "c" * 4).code == BUSY
    assert register_topics(world, 2, "b" * 4, "c" * 4).code == SUCCESS
    leave(world, 1)
    assert register_topics(world, 2, "b" * 4, "c" * 4, "d" * 12).code == SUCCESS


def give(world: World, topic: str, *names: str) -> int:
    """Request 217."""
    queues = [{"brokerName": name, "perm": 6, "readQueueNums": 1, "writeQueueNums": 1} for name in names]
    return world.ask(217, {"topic": topic}, json.dumps({"queueDatas": queues}).encode()).code


def test_topics_of_request_217_count_like_those_of_a_registration(world: World) -> None:
    bounded(world, topics_max=4, bytes_max=20)
    assert register_topics(world, 1, "A", "B").code == SUCCESS
    assert [give(world, topic, "broker-1") for topic in ("C", "D", "E", "C")] == [SUCCESS, SUCCESS, BUSY, SUCCESS]
    assert "E" not in world.context.tables.topic_queue_table
    bounded(world, bytes_max=10)
    assert [give(world, topic, "broker-1") for topic in ("e" * 6, "f" * 7)] == [SUCCESS, BUSY]


def test_a_principal_with_bounds_gives_topics_to_its_own_brokers_alone(world: World) -> None:
    """Those of others do not count for it, so it could give them any number."""
    bounded(world, principal="another", topics_max=4)
    assert register_topics(world, 1, "A", "B").code == SUCCESS
    world.context.principals, world.context.access_key = (TEAM,), None
    assert register_topics(world, 2, "A", "B").code == SUCCESS
    assert [give(world, "C", *names) for names in (["broker-1"], ["broker-2", "broker-1"], ["broker-2"])] == [
        BUSY, BUSY, SUCCESS,
    ]  # fmt: skip
    world.context.principals, world.context.access_key = ("another",), None
    assert give(world, "D", "broker-1", "broker-2") == SUCCESS


def test_each_name_of_an_address_is_a_broker(world: World) -> None:
    bounded(world, brokers_max=3)
    assert [register_topics(world, 1, name=f"b{number}").code for number in range(4)] == [*[SUCCESS] * 3, BUSY]
    assert register_topics(world, 2).code == BUSY
    assert [register_topics(world, 1, name=f"b{number}").code for number in range(3)] == [SUCCESS] * 3
    assert len(world.context.tables.broker_addr_table) == 3


def test_mappings_and_filter_servers_count_as_topics(world: World) -> None:
    bounded(world, topics_max=4)
    assert register_topics(world, 1, "A", "B").code == SUCCESS

    def register_beside(servers: int, mapped: str = "", *, counter: int = 3) -> int:
        filters = [f"10.0.0.1:{port}" for port in range(servers)]
        mapping = {topic: {"topic": topic, "bname": "broker-1", "totalQueues": 1, "epoch": 1, "currIdMap": {}}
                   for topic in mapped}  # fmt: skip
        topics = [topic_config("A"), topic_config("B")]
        body = register_body(topics, data_version(counter=counter), filters=filters, mapping=mapping)
        return world.ask(103, register_ext("c", "broker-1", "10.0.0.1:10911", 0, body), body).code

    assert [register_beside(servers) for servers in (3, 2, 1)] == [BUSY, SUCCESS, SUCCESS]
    assert [register_beside(1, mapped, counter=4) for mapped in ("AB", "A")] == [BUSY, SUCCESS]
    assert give(world, "C", "broker-1") == BUSY
    assert world.ask(216, {"topic": "A", "clusterName": "c"}).code == SUCCESS
    assert [give(world, topic, "broker-1") for topic in ("C", "D", "E")] == [SUCCESS, SUCCESS, BUSY]


def test_what_request_216_deleted_does_not_count(world: World) -> None:
    bounded(world, bytes_max=10)
    assert register_topics(world, 1, "a" * 5, "b" * 5).code == SUCCESS
    assert world.ask(216, {"topic": "a" * 5, "clusterName": "c"}).code == SUCCESS
    assert register_topics(world, 1, "b" * 5, "d" * 5, "e" * 1).code == BUSY
    assert register_topics(world, 1, "b" * 5, "d" * 5).code == SUCCESS


def test_a_broker_repeats_what_it_has_after_the_bounds_were_lowered(world: World) -> None:
    bounded(world, brokers_max=2, topics_max=4)
    assert [register_topics(world, number).code for number in (1, 2)] == [SUCCESS, SUCCESS]
    bounded(world, brokers_max=1, topics_max=1, bytes_max=1)
    assert [register_topics(world, number).code for number in (1, 2)] == [SUCCESS, SUCCESS]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ENFORCE])
def test_refusals_and_what_would_be_refused_are_counted_and_logged_once_a_second(
    world: World, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "rocketns.broker")
    bounded(world, mode, brokers_max=1)
    codes = [register_topics(world, number).code for number in (1, 2, 3)]
    assert codes == [SUCCESS, *([BUSY] * 2 if mode is Mode.ENFORCE else [SUCCESS] * 2)]
    context = world.context
    assert context.beyond_bounds.count == (2 if mode is Mode.ENFORCE else 0)
    assert context.observed_beyond_bounds.count == (0 if mode is Mode.ENFORCE else 2)
    (line,) = [record.getMessage() for record in caplog.records if "access policy" in record.getMessage()]
    assert "brokers_max=1 of principal team-a" in line
    assert ("would refuse" in line) is (mode is Mode.OBSERVE)


# The events of administrators' requests: what they say, what they keep secret, and how many one peer can make.

NK = {"namespace": "ns", "key": "k"}


def trail_of(world: World) -> list[AdminRequested]:
    return [event for event in world.context.drain_events() if isinstance(event, AdminRequested)]


def last(world: World) -> AdminRequested:
    return trail_of(world)[-1]


def test_an_admin_request_says_who_changed_what(world: World) -> None:
    world.context.principals, world.context.access_key = ("ops",), "key-1"
    world.ask(100, NK | {"value": "v"})
    fields = (("namespace", "ns"), ("key", "k"), ("value", "v"))
    assert trail_of(world) == [
        AdminRequested(100, 0, "10.9.9.9", "10.9.9.9:1234", "ops", "key-1", fields, before=None, after="v")
    ]


@pytest.mark.parametrize(
    ("code", "ext", "body", "before", "after"),
    [
        (100, NK | {"value": "w"}, None, "v", "w"),
        (102, NK, None, "v", None),
        (205, {"brokerName": "broker-a"}, None, {"perm": [6]}, {"perm": [4], "changed": 2, "topics": 2}),
        (216, {"topic": "T"}, None, {"brokers": ["broker-a"]}, {"brokers": []}),
        (318, None, b"enableTopicList=false", {"enableTopicList": "true"}, {"enableTopicList": "false"}),
    ],
)  # fmt: skip
def test_a_change_is_told_with_before_and_after(
    world: World, code: int, ext: dict[str, Any] | None, body: bytes | None, before: Any, after: Any
) -> None:
    world.register("T", "U")
    world.ask(100, NK | {"value": "v"})
    world.context.drain_events()
    world.ask(code, ext, body)
    event = last(world)
    told = [json.loads(text) if text is not None and text[0] == "{" else text for text in (event.before, event.after)]
    assert [event.code, event.result, *told] == [code, 0, before, after]


def test_passwords_and_signatures_are_not_told(world: World) -> None:
    world.ask(100, {"namespace": "ns", "key": "dbPassword", "value": "s3cret", "Signature": "abc", "AccessKey": "k"})
    event = last(world)
    assert event.fields == (("namespace", "ns"), ("key", "dbPassword"))
    assert "s3cret" not in str(event)
    world.ask(318, None, b"storePassword=s3cret")
    assert "s3cret" not in str(world.context.drain_events()[-1:])


@pytest.mark.parametrize("char", ["\x01", "\\", '"', "\ud800", "\u202e", "😀"])
def test_the_record_of_an_administrator_finds_room_among_large_ones(world: World, char: str) -> None:
    """Whatever the escapes add: a record of 16 KiB or more is lost where large ones have had their share."""
    junk = {f"{number}{char * 300}": char * 300 for number in range(20)}
    world.context.principals, world.context.access_key = ("ops",), char * 300
    for value in (char * 40_000, char * 40_001):
        world.ask(100, NK | {"value": value} | junk)
        assert len(request_record(last(world))) < LARGE_BYTES
    world.ask(216, {"topic": "nope"} | junk)
    assert len(request_record(last(world))) < LARGE_BYTES


def test_repeated_requests_without_effect_are_counted_in_one_event(world: World) -> None:
    for _ in range(500):
        world.ask(216, {"topic": "nope"})
    assert len(trail_of(world)) == 1
    assert [(one.code, one.count, one.address) for one in world.context.trail.drain_counted()] == [
        (216, 499, "10.9.9.9:1234")
    ]
    assert world.context.trail.drain_counted() == []
    world.ask(216, {"topic": "nope"})
    assert len(trail_of(world)) == 1


def test_every_request_that_changes_something_has_an_event(world: World) -> None:
    count = 2 * DETAILED_PER_SECOND_MAX
    for number in range(count):
        world.ask(100, NK | {"value": str(number)})
    told = trail_of(world)
    assert [one.has_details for one in told] == [number < DETAILED_PER_SECOND_MAX for number in range(count)]
    assert told[-1].fields == ()
    world.now = Now(START.ms + 1_000, START.epoch_ms + 1_000)
    world.ask(100, NK | {"value": "next second"})
    assert last(world).has_details


def test_many_senders_are_counted_as_one(world: World) -> None:
    for number in range(SENDERS_MAX + 100):
        world.peer = Connection(f"10.0.{number // 200}.{number % 200}:1")
        world.ask(216, {"topic": "nope"})
    assert len(trail_of(world)) == SENDERS_MAX + 1
    assert [(one.host, one.count) for one in world.context.trail.drain_counted()] == [(EVERYBODY, 99)]
