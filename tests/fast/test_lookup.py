"""The fast lane answers any frame with exactly the reference's bytes, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from interop.harness.wire import JSON
from interop.parity.groups import SCENARIOS
from interop.parity.language import EVERY_FORM, Ask, Request
from interop.parity.requests import Writer
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.versions import RELEASES
from rocketns.shadow.comparing.frames import split
from tests.compiled.parts import answer, recognise
from tests.fast.lookups import CLIENTS, CLOSES, GET_ROUTE, PublishedWorld, any_frames, look_up, populated


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> PublishedWorld:
    return populated(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("serialize_type", SerializeType)
def test_an_answer_is_the_references(world: PublishedWorld, serialize_type: SerializeType) -> None:
    @given(any_frames)
    @settings(max_examples=200)
    def holds(frame: bytes) -> None:
        expected = world.reference(frame, serialize_type)
        if expected != CLOSES:
            assert answer(world.slots, frame, serialize_type) in (None, expected)

    holds()


@pytest.mark.parametrize("serialize_type", SerializeType)
@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_are_answered(world: PublishedWorld, client: str, serialize_type: SerializeType) -> None:
    for topic in ("T1", "T2", "%RETRY%g", "rmq_sys_SYNC_BROKER_MEMBER_ba", "nobody's", "T" * 1000):
        frame = look_up(client, topic, -17)
        taken = answer(world.slots, frame, serialize_type)
        assert taken is not None
        assert taken == world.reference(frame, serialize_type)


@pytest.mark.parametrize("serialize_type", SerializeType)
@pytest.mark.parametrize("release", RELEASES)
def test_both_releases_are_answered(tmp_path: Path, release: str, serialize_type: SerializeType) -> None:
    """``rocketns.compatibleVersion``: the number of every answer, and the address in the one without a route."""
    world = populated(tmp_path, f"rocketns.compatibleVersion={release}\n")
    for topic in ("T1", "nobody's"):
        frame = look_up(CLIENTS[0], topic, -17)
        taken = answer(world.slots, frame, serialize_type, RELEASES[release].version)
        assert taken is not None
        assert taken == world.reference(frame, serialize_type)


@pytest.mark.parametrize("topic", ["static", "filtered"])
def test_control_gets_lookups_that_cannot_be_composed(world: PublishedWorld, topic: str) -> None:
    frame = look_up(CLIENTS[0], topic)
    assert recognise(frame) is not None
    assert answer(world.slots, frame, 0) is None


def is_ordinary(frame: bytes) -> bool:
    """A lookup with a JSON header without blanks, with what clients write into it and a topic in printable ASCII."""
    header = split(frame)[0]
    if frame[4] != JSON or not header.startswith(b'{"code":105,') or not header.isascii() or b"\\" in header:
        return False
    members = json.loads(header)
    ext = members.get("extFields") or {}
    known = {"code", "extFields", "flag", "language", "opaque", "serializeTypeCurrentRPC", "version"}
    return (
        members.keys() == known
        and members["flag"] == 0
        and json.dumps(members, separators=(",", ":")).encode() == header
        and 0 < len(ext.get("topic") or "") <= 1024
        and ext.get("acceptStandardJsonOnly") in (None, "true", "false")
        and not ext.keys() & {"__ZONE_MODE", "__ZONE_NAME"}
    )


def test_every_ordinary_look_up_of_the_scenarios_is_recognised() -> None:
    asked = [step.what for one in SCENARIOS.values() for step in one.steps if isinstance(step, Ask)]
    frames = [
        Writer(form, 0).frame(what, 7)
        for what in asked
        if isinstance(what, Request) and what.code == GET_ROUTE
        for form in EVERY_FORM
    ]
    ordinary = [frame for frame in frames if is_ordinary(frame)]
    assert len(ordinary) > 50
    assert [frame for frame in ordinary if recognise(frame) is None] == []


def test_an_empty_frame_or_a_short_one_has_no_answer(world: PublishedWorld, tmp_path: Path) -> None:
    for size in range(8):
        assert answer(world.slots, bytes(size), 0) is None
    assert answer(PublishedWorld(tmp_path).slots, look_up(CLIENTS[0]), 0) is not None
