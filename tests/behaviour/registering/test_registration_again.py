"""A broker that registers again: the DataVersion decides which topics change, and missing ones are restored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import query_version, register_with, registered
from tests.behaviour.views import perms, queue, route


@pytest.fixture(scope="module")
def deleting(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A connection to a server with deleteTopicWithBrokerRegistration."""
    server = server_class(tmp_path_factory.mktemp("deleting"), {"deleteTopicWithBrokerRegistration": "true"})
    with server.connect() as connection:
        yield connection
    server.stop()


def delete_topic(client: Client, topic: str) -> None:
    assert client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}).code == 0


def wipe(client: Client, broker: str) -> None:
    assert client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": broker}).code == 0


def test_wiped_permission_stays_with_the_same_version(client: Client, names: Names) -> None:
    """B147: same DataVersion, perm wiped meanwhile; a dropped topic beside it comes back as sent."""
    registered(client, names)
    wipe(client, names.broker)
    delete_topic(client, names.topic("U"))
    registered(client, names)
    assert perms(client, names.topic("T")) == {names.broker: 4}
    assert perms(client, names.topic("U")) == {names.broker: 6}


CHANGED = {
    "counter": data_version(2),
    "timestamp": data_version(timestamp=1_700_000_000_001),
    "stateVersion": data_version(state=1),
}


@pytest.mark.parametrize("version", CHANGED.values(), ids=CHANGED)
def test_new_version_restores_the_permission(client: Client, names: Names, version: dict[str, int]) -> None:
    """B148: new DataVersion after wipe."""
    registered(client, names)
    wipe(client, names.broker)
    registered(client, names, version=version)
    assert perms(client, names.topic("T")) == {names.broker: 6}


def test_changed_content_with_the_same_version_is_not_applied(client: Client, names: Names) -> None:
    """B147: with an equal DataVersion only missing topics are added, whatever the body has for the others."""
    registered(client, names)
    registered(client, names, [topic_config(names.topic("T"), read=1), "U", "V"])
    assert queue(client, names.topic("T"))["readQueueNums"] == 8
    assert perms(client, names.topic("V")) == {names.broker: 6}


def test_changed_content_with_a_new_version_is_applied(client: Client, names: Names) -> None:
    """B148: queue numbers, permission and flag are those of the last body. A topic that it lacks stays."""
    registered(client, names, ["T", "U", "V"])
    changed = topic_config(names.topic("T"), read=1, write=2, perm=4, flag=3)
    registered(client, names, [changed, "U"], version=data_version(2))
    shown = queue(client, names.topic("T"))
    assert [shown[k] for k in ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")] == [1, 2, 4, 3]
    assert perms(client, names.topic("V")) == {names.broker: 6}


@pytest.mark.parametrize("counter", [1, 2], ids=["same DataVersion", "new DataVersion"])
def test_missing_topics_are_removed_when_asked_for(deleting: Client, names: Names, counter: int) -> None:
    """B159: deleteTopicWithBrokerRegistration: missing topics removed, even with same DataVersion."""
    registered(deleting, names)
    registered(deleting, names, ["T", "V"], version=data_version(counter))
    assert route(deleting, names.topic("U")) is None
    assert perms(deleting, names.topic("T")) == perms(deleting, names.topic("V")) == {names.broker: 6}


def test_removal_is_of_this_brokers_part_only(deleting: Client, names: Names) -> None:
    """B159: a topic that another broker has stays there."""
    other = names.broker + "-b"
    registered(deleting, names)
    registered(deleting, names, host=2, brokerName=other)
    registered(deleting, names, ["T", "V"])
    assert perms(deleting, names.topic("U")) == {other: 6}


def test_table_key_keeps_a_topic_from_removal(deleting: Client, names: Names) -> None:
    """B159: it is the table's keys that count."""
    registered(deleting, names)
    table = {names.topic("U"): topic_config(names.topic("V"))}
    body = dumps({"topicConfigSerializeWrapper": {"dataVersion": data_version(2), "topicConfigTable": table}})
    assert register_with(deleting, names, body).code == 0
    assert perms(deleting, names.topic("U")) == perms(deleting, names.topic("V")) == {names.broker: 6}
    assert route(deleting, names.topic("T")) is None


def test_nothing_is_removed_by_default(client: Client, names: Names) -> None:
    """B159: the switch is off."""
    registered(client, names)
    registered(client, names, ["T", "V"], version=data_version(2))
    assert perms(client, names.topic("U")) == {names.broker: 6}


def test_same_registration_over_and_over_changes_nothing(client: Client, names: Names) -> None:
    """B147: an unchanged registration, as every broker sends it every 30 s."""
    first = registered(client, names)
    before = route(client, names.topic("T"))
    for _ in range(3):
        again = registered(client, names)
        assert (again.ext, again.body) == (first.ext, first.body)
    assert route(client, names.topic("T")) == before
    assert query_version(client, names, data_version()).ext == {"changed": "false"}
