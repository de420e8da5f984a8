"""A connection closes or a broker expires while a newer registration arrives: the newer registration stays.

Deliberately different from Java, which queues the unregistration and later removes the address even if it has
registered again (apache/rocketmq issue 11043).
"""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext
from interop.harness.wire import Client, frame, json_header
from rocketns.routeinfo.events import Cause
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, query_version, registered
from tests.behaviour.views import addrs, group, route
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, connection_of, pass_time, wait_for_connections


@pytest.fixture
def reactors() -> int:
    """These tests are about one turn of the loop, so the loop itself carries the connections."""
    return 0


def registration(names: Names) -> bytes:
    """A frame like those of the broker of ``registered``."""
    body = register_body(configs(names, ["T", "U"]), None)
    fields = register_ext(names.cluster, names.broker, names.addr(), 0, body)
    return frame(json_header(codes.REGISTER_BROKER, fields, opaque=5), body)


def assert_is_registered(client: Client, names: Names) -> None:
    assert addrs(client, names.broker) == {"0": names.addr()}
    assert route(client, names.topic("T"))
    assert query_version(client, names, data_version()).ext == {"changed": "false"}


def receive_while(server: TimedServer, new: Client, data: bytes, happens: object) -> None:
    """In one turn of the server's loop, let something happen; then the new connection's request arrives."""
    connection = connection_of(server, new)

    def step() -> None:
        assert callable(happens)
        happens()
        connection.data_received(data)

    server.call(step)


def test_an_expiry_does_not_remove_a_newer_registration(timed_server: TimedServerFactory, names: Names) -> None:
    """B190: the scan found the broker overdue; before the batch is applied it registers over a new connection."""
    server = timed_server()

    pass_time(server, 4 * SECOND)

    def scan() -> None:
        server.clock.advance(SECOND)
        server.controller.run_due_jobs()

    with server.connect() as old, server.connect() as new:
        registered(old, names, heartbeatTimeoutMillis=100)
        receive_while(server, new, registration(names), scan)
        assert new.receive().code == 0
        assert old.is_closed_by_server()
        wait_for_connections(server, 1)
        assert_is_registered(new, names)


def test_a_close_does_not_remove_a_newer_registration(timed_server: TimedServerFactory, names: Names) -> None:
    """B189: the server notices the old connection's end just before it processes the registration over the new one."""
    server = timed_server()
    with server.connect() as old, server.connect() as new:
        registered(old, names)
        connection = connection_of(server, old)
        receive_while(server, new, registration(names), lambda: connection.abort(Cause.CHANNEL_CLOSE))
        assert new.receive().code == 0
        wait_for_connections(server, 1)
        assert_is_registered(new, names)


def test_a_broker_registered_after_its_connection_ended_goes_too(
    timed_server: TimedServerFactory, names: Names
) -> None:
    """B187: the request still waited when the connection closed; Java keeps such a broker until it expires."""
    server = timed_server(**{"rocketns.turnRequestsMax": 1})
    with server.connect() as broker, server.connect() as client:
        connection = connection_of(server, broker)
        waiting = frame(json_header(codes.GET_NAMESRV_CONFIG)) * 3

        def receive_and_lose() -> None:
            connection.data_received(waiting + registration(names))
            connection.abort(Cause.CHANNEL_CLOSE)

        server.call(receive_and_lose)
        wait_for_connections(server, 1)
        pass_time(server, 1)
        assert group(client, names.broker) is None
        assert route(client, names.topic("T")) is None


def test_many_brokers_that_end_at_once_all_go(timed_server: TimedServerFactory) -> None:
    """B187: also when more connections close at once than unRegisterBrokerQueueCapacity has room for."""
    server = timed_server(unRegisterBrokerQueueCapacity=2)
    brokers = [Names() for _ in range(6)]
    connections = [server.connect() for _ in brokers]
    for connection, names in zip(connections, brokers, strict=True):
        registered(connection, names)
    channels = [connection_of(server, connection) for connection in connections]
    server.call(lambda: [connection.abort(Cause.CHANNEL_CLOSE) for connection in channels])
    with server.connect() as client:
        wait_for_connections(server, 1)
        assert [group(client, names.broker) for names in brokers] == [None] * len(brokers)
    for connection in connections:
        connection.close()
