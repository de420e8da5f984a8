"""A broker that registers again: the DataVersion decides which topics change, and missing ones are restored."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, topic_config
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import query_version, registered
from tests.behaviour.views import perms, queue, route


def wipe(client: Client, broker: str) -> None:
    assert client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": broker}).code == 0


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


def test_same_registration_over_and_over_changes_nothing(client: Client, names: Names) -> None:
    """B147: an unchanged registration, as every broker sends it every 30 s."""
    first = registered(client, names)
    before = route(client, names.topic("T"))
    for _ in range(3):
        again = registered(client, names)
        assert (again.ext, again.body) == (first.ext, first.body)
    assert route(client, names.topic("T")) == before
    assert query_version(client, names, data_version()).ext == {"changed": "false"}
