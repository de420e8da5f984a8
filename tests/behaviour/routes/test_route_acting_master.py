"""Routes of groups without master: with the switch on, the slave with the lowest id is shown as master."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, unregister
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


def test_slave_is_shown_as_master_once_its_master_is_gone(client: Client, names: Names) -> None:
    """B207: the master's leaving clears the write bit, which is the condition for showing an acting master."""
    registered(client, names, **ACTING)
    registered(client, names, host=2, broker_id=1, **ACTING)
    both = {names.broker: {"0": names.addr(1), "1": names.addr(2)}}
    assert shown(client, names.topic("T")) == both
    assert unregister(client, names).code == 0
    eventually(lambda: shown(client, names.topic("T")) == {names.broker: {"0": names.addr(2)}})
    registered(client, names, **ACTING)
    assert shown(client, names.topic("T")) == both


def test_writable_topic_is_not_rewritten(client: Client, names: Names) -> None:
    """B208: perm still writable: real ids; the other topic of the same group is rewritten."""
    registered(client, names, host=2, broker_id=1, **ACTING)
    body = dumps({"queueDatas": [{"brokerName": names.broker, "perm": 6, "readQueueNums": 1, "writeQueueNums": 1}]})
    assert client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": names.topic("W")}, body).code == 0
    assert perms(client, names.topic("W")) == {names.broker: 6}
    assert shown(client, names.topic("W")) == {names.broker: {"1": names.addr(2)}}
    assert shown(client, names.topic("T")) == {names.broker: {"0": names.addr(2)}}


def test_group_that_does_not_act_is_not_rewritten(client: Client, names: Names) -> None:
    """B207: enableActingMaster false: real ids, even without write bit."""
    registered(client, names, host=2, broker_id=1, perm=4)
    assert shown(client, names.topic("T")) == {names.broker: {"1": names.addr(2)}}


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


def test_switched_off_shows_real_ids(client: Client, names: Names) -> None:
    """B209: supportActingMaster=false. The switch is read at every request."""
    registered(client, names, host=2, broker_id=1, **ACTING)
    try:
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"supportActingMaster=false\n").code == 0
        assert shown(client, names.topic("T")) == {names.broker: {"1": names.addr(2)}}
    finally:
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"supportActingMaster=true\n").code == 0
    assert shown(client, names.topic("T")) == {names.broker: {"0": names.addr(2)}}


def test_default_is_off(start_server: Callable[..., NameServer], names: Names) -> None:
    """B209: a server without the property."""
    with start_server().connect() as client:
        registered(client, names, host=2, broker_id=1, **ACTING)
        assert shown(client, names.topic("T")) == {names.broker: {"1": names.addr(2)}}
