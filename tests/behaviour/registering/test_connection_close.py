"""Brokers whose connection closes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest

from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import query_version, registered, settle, settle_closes, unregister
from tests.behaviour.views import addrs, group, members, perms, route


def end_with_fin(connection: Client) -> None:
    connection.close()


def end_with_reset(connection: Client) -> None:
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def end_with_garbage(connection: Client) -> None:
    connection.send(b"\xff" * 16)
    assert connection.is_closed_by_server()


@pytest.mark.parametrize("end", [end_with_fin, end_with_reset, end_with_garbage])
def test_broker_goes_with_its_connection(
    server: NameServer, client: Client, names: Names, end: Callable[[Client], None]
) -> None:
    """B187: socket close of a broker: unregistered like 104."""
    connection = server.connect()
    registered(connection, names)
    end(connection)
    eventually(lambda: members(client, names.cluster) is None)
    assert group(client, names.broker) is None
    assert route(client, names.topic("T")) is None
    assert query_version(client, names, data_version()).body is None


def test_master_that_goes_takes_the_write_bit(server: NameServer, client: Client, names: Names) -> None:
    """B187: as with 104, a group with an acting master loses the write bit and keeps its slave."""
    with server.connect() as connection:
        registered(connection, names, enableActingMaster="true")
        registered(client, names, host=2, broker_id=1, enableActingMaster="true")
    eventually(lambda: perms(client, names.topic("T")) == {names.broker: 4})
    assert addrs(client, names.broker) == {"1": names.addr(2)}


def test_close_after_unregistration_does_nothing(server: NameServer, client: Client, names: Names) -> None:
    """B187: by then the broker may have registered again on another connection."""
    with server.connect() as connection:
        registered(connection, names)
        assert unregister(connection, names).code == 0
        eventually(lambda: group(client, names.broker) is None)
        registered(client, names)
    settle_closes(server)
    assert addrs(client, names.broker) == {"0": names.addr()}


def test_brokers_that_share_a_connection(server: NameServer, server_class: type[NameServer], client: Client) -> None:
    """B188: socket shared by several brokers closes: all go. Of Java only one goes, and which one is free."""
    brokers = [Names() for _ in range(3)]
    with server.connect() as connection:
        for names in brokers:
            registered(connection, names)

    def left() -> int:
        return sum(group(client, names.broker) is not None for names in brokers)

    eventually(lambda: left() < 3)
    settle_closes(server)
    settle(client)
    assert left() == (2 if server_class.kind == "java" else 0)


def test_connection_of_the_last_registration_counts(server: NameServer, client: Client, names: Names) -> None:
    """B189: the old socket closes after re-registration on a new one: no effect. The new one's close has an effect."""
    new = server.connect()
    with server.connect() as old:
        registered(old, names)
        registered(new, names)
    settle_closes(server)
    settle(client)
    assert addrs(client, names.broker) == {"0": names.addr()}
    assert query_version(client, names, data_version()).ext == {"changed": "false"}
    new.close()
    eventually(lambda: group(client, names.broker) is None)


def test_broker_under_a_second_cluster_goes_with_its_connection(
    server: NameServer, server_class: type[NameServer], client: Client, names: Names
) -> None:
    """B158: in Java its group's entry is of the first cluster, so the close does not find it under the second."""
    first = names.cluster
    registered(client, names)
    with server.connect() as connection:
        registered(connection, names, host=2, broker_id=1, clusterName=first + "-2")
    settle_closes(server)
    settle(client)
    stays = {"1": names.addr(2)} if server_class.kind == "java" else {}
    assert addrs(client, names.broker) == {"0": names.addr(1)} | stays
