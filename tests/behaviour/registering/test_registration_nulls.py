"""REGISTER_BROKER bodies with explicit nulls where an object belongs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from interop.harness.payloads import data_version, dumps
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, query_version, register_with, registered
from tests.behaviour.views import addrs, members, perms

NO_TABLE = {
    "table": dumps({"topicConfigSerializeWrapper": {"dataVersion": data_version(2), "topicConfigTable": None}}),
    "wrapper": b'{"topicConfigSerializeWrapper":null}',
}


@pytest.mark.parametrize("body", NO_TABLE.values(), ids=NO_TABLE)
def test_null_table_of_a_known_id_leaves_topics_alone(client: Client, names: Names, body: bytes) -> None:
    """B138: topicConfigTable:null, id known."""
    registered(client, names)
    answer = register_with(client, names, body)
    assert (answer.code, answer.ext) == (0, {})
    assert addrs(client, names.broker) == {"0": names.addr()}
    for topic in TWO_TOPICS:
        assert perms(client, names.topic(topic)) == {names.broker: 6}


def test_null_table_of_a_known_id_still_brings_its_version(client: Client, names: Names) -> None:
    """B138: the address is refreshed with the DataVersion sent."""
    registered(client, names)
    assert register_with(client, names, NO_TABLE["table"]).code == 0
    assert query_version(client, names, data_version(2)).ext == {"changed": "false"}


def test_null_wrapper_brings_a_version_of_now(client: Client, names: Names) -> None:
    """B138: topicConfigSerializeWrapper:null is stored as a new DataVersion: 0/now/0, of the wall clock."""
    registered(client, names)
    before_ms = int(time.time() * 1000)
    assert register_with(client, names, NO_TABLE["wrapper"]).code == 0
    stored = query_version(client, names).json()
    assert (stored["counter"], stored["stateVersion"]) == (0, 0)
    assert before_ms <= stored["timestamp"] <= time.time() * 1000


@pytest.mark.parametrize("body", NO_TABLE.values(), ids=NO_TABLE)
def test_null_table_of_a_new_id_is_not_taken(
    start_server: Callable[..., NameServer], server_class: type[NameServer], names: Names, body: bytes
) -> None:
    """B139: topicConfigTable:null, new id: success, but nothing is kept. Java keeps a group without address."""
    is_java = server_class.kind == "java"
    with start_server().connect() as client:
        answer = register_with(client, names, body)
        assert (answer.code, answer.ext) == (0, {})
        assert addrs(client, names.broker) == ({} if is_java else None)
        assert members(client, names.cluster) == ([names.broker] if is_java else None)
        assert query_version(client, names, data_version()).ext == {"changed": "true"}
        registered(client, names)
        assert addrs(client, names.broker) == {"0": names.addr()}
