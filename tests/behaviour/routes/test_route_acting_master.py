"""Routes of groups without master: with the switch on, the slave with the lowest id is shown as master."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import perms, route

ACTING = {"enableActingMaster": "true"}


@pytest.fixture(scope="module")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One server with supportActingMaster for the tests of this file."""
    started = server_class(tmp_path_factory.mktemp("acting"), {"supportActingMaster": "true"})
    yield started
    started.stop()


def shown(client: Client, topic: str) -> dict[str, dict[str, str]]:
    """Broker name to its addresses in the topic's route."""
    return {one["brokerName"]: one["brokerAddrs"] for one in route(client, topic)["brokerDatas"]}


def test_writable_topic_is_not_rewritten(client: Client, names: Names) -> None:
    """B208: perm still writable: real ids; the other topic of the same group is rewritten."""
    registered(client, names, host=2, broker_id=1, **ACTING)
    body = dumps({"queueDatas": [{"brokerName": names.broker, "perm": 6, "readQueueNums": 1, "writeQueueNums": 1}]})
    assert client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": names.topic("W")}, body).code == 0
    assert perms(client, names.topic("W")) == {names.broker: 6}
    assert shown(client, names.topic("W")) == {names.broker: {"1": names.addr(2)}}
    assert shown(client, names.topic("T")) == {names.broker: {"0": names.addr(2)}}


def test_each_group_of_a_route_is_looked_at_alone(client: Client, names: Names) -> None:
    """B207: a group with a master beside it is not changed."""
    other = names.broker + "-b"
    registered(client, names, host=2, broker_id=1, **ACTING)
    registered(client, names, host=3, brokerName=other, **ACTING)
    registered(client, names, host=4, broker_id=1, brokerName=other, **ACTING)
    assert shown(client, names.topic("T")) == {
        names.broker: {"0": names.addr(2)},
        other: {"0": names.addr(3), "1": names.addr(4)},
    }


def test_default_is_off(start_server: Callable[..., NameServer], names: Names) -> None:
    """B209: a server without the property."""
    with start_server().connect() as client:
        registered(client, names, host=2, broker_id=1, **ACTING)
        assert shown(client, names.topic("T")) == {names.broker: {"1": names.addr(2)}}
