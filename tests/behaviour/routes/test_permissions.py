"""WIPE_WRITE_PERM_OF_BROKER and ADD_WRITE_PERM_OF_BROKER."""

from __future__ import annotations

from interop.harness import codes
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import perms


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


def test_only_this_brokers_part_of_a_topic_changes(client: Client, names: Names) -> None:
    """B219, B220: a second broker of the same topic."""
    other = names.broker + "-b"
    registered(client, names, ["T", "U"], perm=7)
    registered(client, names, ["T", "V"], perm=7, host=2, brokerName=other)
    assert wipe(client, names.broker) == "2"
    assert perms(client, names.topic("T")) == {names.broker: 5, other: 7}
    assert add(client, other) == "2"
    assert perms(client, names.topic("T")) == {names.broker: 5, other: 6}
