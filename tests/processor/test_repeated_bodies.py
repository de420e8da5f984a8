"""Registrations with the moving time stamp of a 5.x broker are recognised, and have the effect of their bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from interop.harness.payloads import compressed_body, data_version, dumps, register_ext, topic_config
from rocketns.processor import broker
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import Reply
from tests.processor.asking import START, World, crc

NOW_MS = START.epoch_ms
CHANGED_MS = NOW_MS - 1_000_000  # when the broker last changed a topic
REFUSED = "crc32 not match"


def plain(stamp: int = NOW_MS, *, counter: int = 1, names: tuple[str, ...] = ("T1", "T2"), **more: Any) -> bytes:
    """The body of a 5.5.0 broker; ``more`` are members of the wrapper in front of its own."""
    own = {
        "dataVersion": data_version(counter, CHANGED_MS),
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": stamp},
        "topicConfigTable": {name: topic_config(name) for name in names},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": more | own})


def register(world: World, body: bytes, **ext: Any) -> Reply:
    return world.ask(RequestCode.REGISTER_BROKER, register_ext(body=body, **ext), body)


def counts(world: World) -> tuple[int, int]:
    return world.context.registrations.total, world.context.registrations.repeated


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_body_with_a_later_stamp_is_a_repeated_one(world: World) -> None:
    """B147: also with the CRC in the header, which differs because the stamp does."""
    for periods in range(3):
        assert register(world, plain(NOW_MS + 30_000 * periods)).code == 0
    assert counts(world) == (3, 2)


def test_a_repeated_compressed_body_is_a_repeated_one(world: World) -> None:
    """B147: it has no time stamp of its own."""
    for _ in range(3):
        body = compressed_body([topic_config("T1"), topic_config("T2")], data_version(1, CHANGED_MS))
        assert register(world, body, compressed="true").code == 0
    assert counts(world) == (3, 2)


def test_the_crc_of_a_repeated_body_is_checked(world: World) -> None:
    """B121: with a stamp of its own and without."""
    register(world, plain())
    for stamp in (NOW_MS, NOW_MS + 30_000):
        reply = register(world, plain(stamp), bodyCrc32=str(crc(plain(stamp)) ^ 1))
        assert (reply.code, reply.remark) == (1, REFUSED)
    assert counts(world) == (1, 0)


def test_a_repeated_body_may_come_without_a_crc(world: World) -> None:
    register(world, plain())
    assert register(world, plain(NOW_MS + 1), bodyCrc32="0").code == 0
    assert counts(world) == (2, 1)


def test_a_new_data_version_is_decoded(world: World) -> None:
    """B148."""
    register(world, plain())
    register(world, plain(NOW_MS + 30_000, counter=2, names=("T1", "T2", "T3")))
    assert counts(world) == (2, 0)
    assert "T3" in world.context.tables.topic_queue_table


bodies = st.one_of(
    st.builds(
        plain,
        st.sampled_from([NOW_MS, NOW_MS + 30_000, 0, 10**12 - 1, 10**13]),
        counter=st.integers(1, 2),
        names=st.sampled_from([("T1", "T2"), ("T1", "mappingDataVersion"), ("T1", "T2", "timestamp")]),
    ),
    st.builds(
        lambda stamp, fake: plain(stamp, topicConfigSerializeWrapper={"mappingDataVersion": {"timestamp": fake}}),
        st.sampled_from([NOW_MS, NOW_MS + 30_000]),
        st.sampled_from([NOW_MS, NOW_MS + 30_000]),
    ),
    st.sampled_from([NOW_MS, CHANGED_MS + 1]).map(lambda ms: plain().replace(b"%d" % CHANGED_MS, b"%d" % ms)),
)
steps = st.lists(st.tuples(bodies, st.sampled_from([None, 105, 216])), min_size=2, max_size=8)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [tmp_path_factory.mktemp(name) for name in ("short", "whole")]


@given(steps)
def test_a_server_that_recognises_bodies_does_what_one_does_that_decodes_all(homes: list[Path], steps: Any) -> None:
    """B146, B147, B148: replies and tables are the same after each registration, and after a topic is deleted."""
    short, whole = (World(home) for home in homes)
    for body, then in steps:
        with patch.object(broker, "repeated_body", return_value=None):
            expected = register(whole, body)
        assert register(short, body) == expected
        if then == RequestCode.DELETE_TOPIC_IN_NAMESRV:
            for world in (short, whole):
                world.ask(then, {"topic": "T1"})
        assert tables(short) == tables(whole)
    assert counts(whole)[1] == 0
    event(f"repeated bodies: {counts(short)[1]}")


def tables(world: World) -> str:
    """Without what only repeated bodies need."""
    return repr(world.context.tables).partition("removals=")[0]
