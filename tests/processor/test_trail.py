"""The events of administrators' requests: what they say, what they keep secret, and how many one peer can make."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocketns.access.shown import FIELDS_MAX, TEXT_CHARS_MAX, shown_fields
from rocketns.processor.context import Now
from rocketns.processor.trail import (
    CHANGE_CHARS_MAX,
    DETAILED_PER_SECOND_MAX,
    EVERYBODY,
    LISTED_MAX,
    SENDERS_MAX,
    short_json,
)
from rocketns.routeinfo.events import AdminRequested
from tests.processor.asking import START, Connection, World

NK = {"namespace": "ns", "key": "k"}


def trail_of(world: World) -> list[AdminRequested]:
    return [event for event in world.context.take_events() if isinstance(event, AdminRequested)]


def last(world: World) -> AdminRequested:
    return trail_of(world)[-1]


def test_an_admin_request_says_who_changed_what(world: World) -> None:
    world.context.principal, world.context.access_key = "ops", "key-1"
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
    world.context.take_events()
    world.ask(code, ext, body)
    event = last(world)
    told = [json.loads(text) if text is not None and text[0] == "{" else text for text in (event.before, event.after)]
    assert [event.code, event.result, *told] == [code, 0, before, after]


def test_add_write_perm_tells_the_permissions_that_it_replaces(world: World) -> None:
    world.register("T", "U")
    world.ask(205, {"brokerName": "broker-a"})
    world.context.take_events()
    world.ask(327, {"brokerName": "broker-a"})
    event = last(world)
    assert (event.before, event.after) == ('{"perm": [4]}', '{"perm": [6], "changed": 2, "topics": 2}')


def test_a_request_that_fails_is_told_with_its_code(world: World) -> None:
    world.ask(100, {"key": "k"})
    event = last(world)
    assert (event.result, event.before, event.after) == (1, None, None)


def test_a_request_that_only_reads_is_not_told(world: World) -> None:
    world.register("T")
    for code in (101, 105, 106, 206, 219, 304, 319):
        world.ask(code, NK)
    assert trail_of(world) == []


def test_passwords_and_signatures_are_not_told(world: World) -> None:
    world.ask(100, {"namespace": "ns", "key": "dbPassword", "value": "s3cret", "Signature": "abc", "AccessKey": "k"})
    event = last(world)
    assert event.fields == (("namespace", "ns"), ("key", "dbPassword"))
    assert "s3cret" not in str(event)
    world.ask(318, None, b"storePassword=s3cret")
    assert "s3cret" not in str(world.context.take_events()[-1:])


def test_a_long_access_key_is_cut(world: World) -> None:
    world.context.access_key = "k" * 10_000
    world.ask(216, {"topic": "nope"})
    assert last(world).access_key == "k" * TEXT_CHARS_MAX + "… (cut, 10000 characters)"


def test_fields_and_values_are_cut(world: World) -> None:
    many = {f"f{number}" * 100: "x" * 5_000 for number in range(100)}
    shown = shown_fields(many)
    assert len(shown) == FIELDS_MAX
    assert all(len(text) < TEXT_CHARS_MAX + 40 for pair in shown for text in pair)
    world.ask(100, NK | {"value": "x" * 50_000})
    after = last(world).after
    assert after is not None
    assert after.startswith("x" * CHANGE_CHARS_MAX + "… (cut, 50000 characters)")


def test_long_lists_are_cut() -> None:
    told = json.loads(short_json({"brokers": [f"b{number}" for number in range(1_000)]}))
    assert len(told["brokers"]) == LISTED_MAX + 1
    assert told["brokers"][-1] == f"{1_000 - LISTED_MAX} more"


def test_repeated_requests_without_effect_are_counted_in_one_event(world: World) -> None:
    for _ in range(500):
        world.ask(216, {"topic": "nope"})
    assert len(trail_of(world)) == 1
    assert [(one.code, one.count, one.address) for one in world.context.trail.take_counted()] == [
        (216, 499, "10.9.9.9:1234")
    ]
    assert world.context.trail.take_counted() == []
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
    assert [(one.host, one.count) for one in world.context.trail.take_counted()] == [(EVERYBODY, 99)]
