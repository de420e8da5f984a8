"""What a principal may register: each bound at its edge, who counts for it, and what a refusal leaves."""

from __future__ import annotations

import logging

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns.access.classes import Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import Bounds, Principal
from rocketns.protocol.codes import ResponseCode
from rocketns.protocol.command import Reply
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from tests.processor.asking import World

BUSY, SUCCESS = ResponseCode.SYSTEM_BUSY, ResponseCode.SUCCESS
TEAM = "team-a"


def bounded(world: World, mode: Mode = Mode.ENFORCE, principal: str | None = TEAM, **bounds: int) -> World:
    """The world with a policy that bounds the team. Requests are the principal's."""
    team = Principal(TEAM, frozenset({Access.BROKER}), bounds=Bounds(**bounds))
    world.context.guard.follow(Policy((team,), {Access.BROKER: mode}))
    world.context.asked_by(principal, None)
    return world


def register(world: World, number: int, *topics: str, name: str | None = None, broker_id: int = 0) -> Reply:
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
    assert [register(world, number).code for number in (1, 2, 3)] == [SUCCESS, SUCCESS, BUSY]
    assert register(world, 2).code == SUCCESS
    leave(world, 1)
    assert register(world, 3).code == SUCCESS
    assert register(world, 1).code == BUSY


def test_the_answer_names_the_bound_and_the_principal(world: World) -> None:
    bounded(world, brokers_max=0)
    remark = (
        "[BOUND]it would have 1 live brokers, more than brokers_max=0 of principal team-a; nothing of the request is "
        "applied"
    )
    assert register(world, 1).remark == remark
    assert not world.context.tables.broker_addr_table
    assert not world.context.tables.by_principal


def test_others_have_bounds_of_their_own_or_none(world: World) -> None:
    bounded(world, brokers_max=1)
    assert register(world, 1).code == SUCCESS
    world.context.asked_by("another", None)
    assert [register(world, number).code for number in (2, 3)] == [SUCCESS, SUCCESS]
    world.context.asked_by(None, None)
    assert register(world, 4).code == SUCCESS
    world.context.asked_by(TEAM, None)
    assert register(world, 5).code == BUSY


def test_a_broker_counts_for_the_principal_that_registered_it_last(world: World) -> None:
    bounded(world, principal="another", brokers_max=1)
    assert register(world, 1).code == SUCCESS
    world.context.asked_by(TEAM, None)
    assert [register(world, number).code for number in (1, 2)] == [SUCCESS, BUSY]
    assert world.context.tables.by_principal.keys() == {TEAM}


def test_a_principal_may_have_so_many_topics_on_all_its_broker_names(world: World) -> None:
    """Master and slave have one name: its topics count once. A topic of two names counts twice."""
    bounded(world, topics_max=5)
    assert register(world, 1, "A", "B", "C", name="b").code == SUCCESS
    assert register(world, 2, "A", "B", "C", name="b", broker_id=1).code == SUCCESS
    assert register(world, 3, "A", "B", "D").code == BUSY
    assert register(world, 3, "A", "B").code == SUCCESS
    assert register(world, 1, "A", "B", "C", "E", name="b").code == BUSY
    assert "E" not in world.context.tables.topic_queue_table
    leave(world, 3)
    assert register(world, 1, "A", "B", "C", "E", name="b").code == SUCCESS


def test_a_long_name_counts_as_several_topics(world: World) -> None:
    bounded(world, topics_max=4)
    assert register(world, 1, "A", "B" * 600).code == SUCCESS
    assert register(world, 1, "A", "B" * 600, "C").code == BUSY


def test_a_principal_may_have_so_many_bytes_of_topic_names(world: World) -> None:
    bounded(world, bytes_max=20)
    assert register(world, 1, "a" * 8, "Ü" * 2).code == SUCCESS
    assert register(world, 2, "b" * 5, "c" * 4).code == BUSY
    assert register(world, 2, "b" * 4, "c" * 4).code == SUCCESS
    leave(world, 1)
    assert register(world, 2, "b" * 4, "c" * 4, "d" * 12).code == SUCCESS


def test_what_request_216_deleted_does_not_count(world: World) -> None:
    bounded(world, bytes_max=10)
    assert register(world, 1, "a" * 5, "b" * 5).code == SUCCESS
    assert world.ask(216, {"topic": "a" * 5, "clusterName": "c"}).code == SUCCESS
    assert register(world, 1, "b" * 5, "d" * 5, "e" * 1).code == BUSY
    assert register(world, 1, "b" * 5, "d" * 5).code == SUCCESS


def test_a_broker_repeats_what_it_has_after_the_bounds_were_lowered(world: World) -> None:
    bounded(world, brokers_max=2, topics_max=4)
    assert [register(world, number).code for number in (1, 2)] == [SUCCESS, SUCCESS]
    bounded(world, brokers_max=1, topics_max=1, bytes_max=1)
    assert [register(world, number).code for number in (1, 2)] == [SUCCESS, SUCCESS]


def test_a_refused_broker_that_is_in_the_tables_stays_there(world: World) -> None:
    bounded(world, topics_max=2)
    assert register(world, 1).code == SUCCESS
    world.now = world.now._replace(ms=world.now.ms + 60_000)
    assert register(world, 1, "T1", "U1", "V1").code == BUSY
    entry = world.context.tables.live("c", "10.0.0.1:10911")
    assert entry is not None
    assert entry.last_update_ms == world.now.ms


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ENFORCE])
def test_refusals_and_what_would_be_refused_are_counted_and_logged_once_a_second(
    world: World, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "rocketns.broker")
    bounded(world, mode, brokers_max=1)
    codes = [register(world, number).code for number in (1, 2, 3)]
    assert codes == [SUCCESS, *([BUSY] * 2 if mode is Mode.ENFORCE else [SUCCESS] * 2)]
    context = world.context
    assert context.beyond_bounds.count == (2 if mode is Mode.ENFORCE else 0)
    assert context.observed_beyond_bounds.count == (0 if mode is Mode.ENFORCE else 2)
    (line,) = [record.getMessage() for record in caplog.records if "access policy" in record.getMessage()]
    assert "brokers_max=1 of principal team-a" in line
    assert ("would refuse" in line) is (mode is Mode.OBSERVE)


def test_without_a_policy_nobody_has_bounds(world: World) -> None:
    world.context.asked_by(TEAM, None)
    assert all(register(world, number).code == SUCCESS for number in range(1, 20))
    assert not world.context.beyond_bounds.count
