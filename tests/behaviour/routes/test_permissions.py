"""WIPE_WRITE_PERM_OF_BROKER and ADD_WRITE_PERM_OF_BROKER."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import topic_config
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import perms

EVERY_PERM = range(8)


def wipe(client: Client, broker: str) -> str:
    """The count of topics it answers with."""
    answer = client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": broker})
    assert (answer.code, answer.remark, answer.body) == (0, None, None)
    assert set(answer.ext or {}) == {"wipeTopicCount"}
    return (answer.ext or {})["wipeTopicCount"]


def add(client: Client, broker: str) -> str:
    """The count of topics it answers with."""
    answer = client.request(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": broker})
    assert (answer.code, answer.remark, answer.body) == (0, None, None)
    assert set(answer.ext or {}) == {"addTopicCount"}
    return (answer.ext or {})["addTopicCount"]


def register_every_perm(client: Client, names: Names) -> None:
    """A topic for each permission, named after it."""
    registered(client, names, [topic_config(names.topic(str(perm)), perm=perm) for perm in EVERY_PERM])


def shown(client: Client, names: Names) -> list[int]:
    return [perms(client, names.topic(str(perm)))[names.broker] for perm in EVERY_PERM]


def test_wipe_clears_the_write_bit(client: Client, names: Names) -> None:
    """B219: 205: the count includes unchanged topics, so a second request has the same count."""
    register_every_perm(client, names)
    for _ in range(2):
        assert wipe(client, names.broker) == str(len(EVERY_PERM))
        assert shown(client, names) == [0, 1, 0, 1, 4, 5, 4, 5]


@pytest.mark.parametrize("ext", [{"brokerName": "unknown"}, {}, None])
def test_unknown_broker_counts_nothing(client: Client, ext: dict[str, str] | None) -> None:
    """B219, B220: unknown or missing broker name."""
    wiped = client.request(codes.WIPE_WRITE_PERM_OF_BROKER, ext)
    assert (wiped.code, wiped.ext) == (0, {"wipeTopicCount": "0"})
    added = client.request(codes.ADD_WRITE_PERM_OF_BROKER, ext)
    assert (added.code, added.ext) == (0, {"addTopicCount": "0"})


def test_add_sets_read_and_write_exactly(client: Client, names: Names) -> None:
    """B220: 327: perm becomes 6 even from 7→5 or 1."""
    register_every_perm(client, names)
    wipe(client, names.broker)
    for _ in range(2):
        assert add(client, names.broker) == str(len(EVERY_PERM))
        assert shown(client, names) == [6] * len(EVERY_PERM)


def test_only_this_brokers_part_of_a_topic_changes(client: Client, names: Names) -> None:
    """B219, B220: a second broker of the same topic."""
    other = names.broker + "-b"
    registered(client, names, ["T", "U"], perm=7)
    registered(client, names, ["T", "V"], perm=7, host=2, brokerName=other)
    assert wipe(client, names.broker) == "2"
    assert perms(client, names.topic("T")) == {names.broker: 5, other: 7}
    assert add(client, other) == "2"
    assert perms(client, names.topic("T")) == {names.broker: 5, other: 6}
