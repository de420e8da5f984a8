"""What a server knows after a kill or a stop, before any broker registers again."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered, unregister
from tests.behaviour.views import ask_route, cluster_info, filter_servers, group, perms, route
from tests.journal.files import records_of

VERSION = data_version()
# A third of the time after which an unconfirmed broker is removed.
FAR_BELOW_CONFIRM_S = 30.0


def everything(client: Client, names: Names) -> Any:
    """All answers about routes, byte for byte."""
    route_bodies = [ask_route(client, names.topic(one)).body for one in "TUVW"]
    return route_bodies, cluster_info(client)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_routes_are_as_before(start: Callable[..., RocketnsServer], names: Names, how: str) -> None:
    """Topics and queues, wiped permissions, addresses, zones and acting masters, filter servers."""
    server = start()
    with server.connect() as client, server.connect() as slave:
        registered(client, names, ("T", "U"), filters=["10.9.9.9:1"], enableActingMaster=True)
        registered(slave, names, host=2, broker_id=1, enableActingMaster=True)
        other = Names()
        registered(client, other, (names.topic("V"), names.topic("W")))
        assert client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": other.broker}).code == 0
        before = everything(client, names)
        getattr(server, how)()
    server.start()
    with server.connect() as client:
        assert everything(client, names) == before
        assert filter_servers(client, names.topic())[names.addr()] == ["10.9.9.9:1"]
        assert set(perms(client, other.topic("V")).values()) <= {4}


def test_ten_kills_in_a_row_lose_nothing(start: Callable[..., RocketnsServer], names: Names) -> None:
    """Each right after a change, and most of them before the snapshot of the restart is on disk."""
    server = start()
    for number in range(10):
        with server.connect() as client:
            registered(client, names, [f"T{one}" for one in range(number + 2)])
            server.kill()
        server.start()
    with server.connect() as client:
        assert all(route(client, names.topic(f"T{one}")) for one in range(11))


def test_a_broker_that_left_is_not_restored(start: Callable[..., RocketnsServer], names: Names, tmp_path: Path) -> None:
    """An unregistration is answered before it is applied, as in Java."""
    server = start()
    with server.connect() as client:
        registered(client, names)
        unregister(client, names)
        eventually(lambda: any(one["ev"] == "tdel" for one in records_of(tmp_path / "j", with_open=True)))
        server.kill()
    server.start()
    with server.connect() as client:
        assert cluster_info(client) == {"brokerAddrTable": {}, "clusterAddrTable": {}}


def test_a_data_version_is_known_after_a_stop(start: Callable[..., RocketnsServer], names: Names) -> None:
    """A broker that asks for its version first then need not send all its topics."""
    server = start()
    with server.connect() as client:
        registered(client, names, version=VERSION)
        server.stop()
    server.start()
    with server.connect() as client:
        assert query_version(client, names, VERSION).ext == {"changed": "false"}


def test_a_slave_is_told_its_restored_master(start: Callable[..., RocketnsServer], names: Names) -> None:
    """A broker acts on its first answer. Without a master in it, the slave would stop copying topics and offsets."""
    server = start()
    with server.connect() as client:
        registered(client, names)
        server.kill()
    server.start()
    with server.connect() as slave:
        answer = registered(slave, names, host=2, broker_id=1)
        assert answer.ext is not None
        assert answer.ext["masterAddr"] == names.addr()


def test_a_server_without_restore_starts_empty(start: Callable[..., RocketnsServer], names: Names) -> None:
    """rocketns.restore=false."""
    server = start(**{"rocketns.restore": "false"})
    with server.connect() as client:
        registered(client, names)
        server.kill()
    server.start()
    with server.connect() as client:
        assert ask_route(client, names.topic()).code == codes.TOPIC_NOT_EXIST


@pytest.fixture
def port_nobody_listens_at() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_broker_whose_host_refuses_connections_is_gone_at_once(
    start: Callable[..., RocketnsServer], names: Names, port_nobody_listens_at: int, tmp_path: Path
) -> None:
    """A broker whose address accepts connections stays."""
    server = start(**{"rocketns.askUnconfirmed": "true"})
    other = Names()
    with socket.create_server(("127.0.0.1", 0)) as alive:
        names.addr = lambda host=1: f"127.0.0.1:{port_nobody_listens_at + host - 1}"  # type: ignore[method-assign]
        other.addr = lambda host=1: f"127.0.0.1:{alive.getsockname()[1] + host - 1}"  # type: ignore[method-assign]
        with server.connect() as client:
            registered(client, names)
            registered(client, other)
            server.kill()
        server.start()
        with server.connect() as client:
            eventually(lambda: group(client, names.broker) is None, FAR_BELOW_CONFIRM_S)
            assert route(client, names.topic()) is None
            assert route(client, other.topic()) is not None
    server.stop()
    downs = [one for one in records_of(tmp_path / "j") if one["ev"] == "down"]
    assert [(one["broker"], one["cause"]) for one in downs] == [(names.broker, "refused")]
    assert "is gone: its address refuses connections" in server.process.text()


def test_a_heartbeat_confirms(start: Callable[..., RocketnsServer], names: Names) -> None:
    server = start()
    with server.connect() as client:
        registered(client, names)
        server.kill()
    server.start()
    with server.connect() as client:
        heartbeat(client, names)
        eventually(lambda: "sent a heartbeat (it was restored)" in server.process.text())
