"""Lists of topics that are too long are refused before they are sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns.processor import admin
from rocketns.protocol.body import bodies
from rocketns.protocol.command import Reply
from tests.processor.asking import World

MOST = 3
NAMES = "the list has more names than TOPICS_LISTED_MAX=3"
QUEUES = "topics with a unit flag have more queues than UNIT_QUEUES_READ_MAX=3"
# The fields of the request, the flag of the topics, and the remark.
LISTS: dict[int, tuple[dict[str, str], int, str]] = {
    codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: ({}, 0, NAMES),
    codes.GET_TOPICS_BY_CLUSTER: ({"cluster": "C1"}, 0, NAMES),
    codes.GET_UNIT_TOPIC_LIST: ({}, 1, QUEUES),
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST: ({}, 2, QUEUES),
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: ({}, 2, QUEUES),
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A name server that lists three topics, and reads three queues for it."""
    monkeypatch.setattr(admin, "TOPICS_LISTED_MAX", MOST)
    monkeypatch.setattr(admin, "UNIT_QUEUES_READ_MAX", MOST)
    return World(tmp_path)


def register(world: World, *topics: str, flag: int = 0, **ext: Any) -> None:
    body = register_body([topic_config(name, flag=flag) for name in topics], data_version(1))
    assert world.ask(103, register_ext(body=body, **ext), body).code == codes.SUCCESS


def must_not_be_made(*_: object) -> bytes:
    raise AssertionError("a list beyond the bound was made")


@pytest.mark.parametrize("code", LISTS)
def test_a_list_of_too_many_topics(world: World, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    fields, flag, remark = LISTS[code]
    register(world, "T1", "T2", "T3", flag=flag)
    assert world.ask(code, fields) == Reply(body=b'{"topicList":["T1","T2","T3"]}')
    register(world, "U1", "U2", flag=flag, broker="broker-b", addr="10.0.0.2:10911")
    monkeypatch.setattr(bodies, "topic_list", must_not_be_made)
    assert world.ask(code, fields) == Reply(1, remark)


def test_too_many_names_of_brokers_and_clusters(world: World) -> None:
    for number in range(2):
        register(world, "T1", "T2", broker=f"b{number}", addr=f"10.0.0.{number}:10911")
    assert world.ask(304).code == codes.SUCCESS
    register(world, "T1", "T2", broker="b2", addr="10.0.0.2:10911")
    assert world.ask(304) == Reply(1, NAMES)
