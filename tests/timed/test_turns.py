"""The work of one turn of control, what is left for the next turn, and what arrives between two of them.

A connection closes or a broker expires while a newer registration arrives: the newer registration stays. Java queues
the unregistration and later removes the address even if it has registered again (apache/rocketmq issue 11043).
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns._fast.codec.wire import next_frame
from rocketns._fast.connections.connection import Ending
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.processor import requests
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.server.control.expiry import EXPIRED_AT_ONCE_MAX
from rocketns.server.reactors.transport import ReactorConnection
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, query_version, registered, unregister_ext
from tests.behaviour.views import addrs, ask_route, group, route
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time, wait_for_connections

# The number of a connection that no reactor has.
GONE = 0xFFFFFF << 32


def receive(server: TimedServer, connection: ReactorConnection, data: bytes) -> None:
    """Control only. A reactor hands the frames over."""
    at = 0
    while at < len(data):
        size = next_frame(data, at, FRAME_BYTES_MAX)
        server.controller.core.control.submit(connection, data[at : at + size])
        at += size


def receive_and_lose(server: TimedServer, data: bytes) -> ReactorConnection:
    """A reactor hands over the frames of a connection, and its end. Nothing is at the other end."""
    transport = server.transport

    def tell() -> ReactorConnection:
        transport.opened(GONE, 0, False, ("127.0.0.1:1", None, b"", 0))
        connection = transport._connections[GONE]
        receive(server, connection, data)
        transport.closed(GONE, Ending.PEER_CLOSED)
        return connection

    return server.call(tell)


@pytest.fixture
def processed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the codes of all processed requests."""
    seen: list[int] = []
    process = requests.process

    def watched(context: NamesrvContext, request: RemotingCommand, peer: Connection, now: Now) -> Reply:
        seen.append(request.code)
        return process(context, request, peer, now)

    monkeypatch.setattr(requests, "process", watched)
    return seen


def registration(names: Names) -> bytes:
    body = register_body(configs(names, ["T", "U"]), None)
    fields = register_ext(names.cluster, names.broker, names.addr(), 0, body)
    return frame(json_header(codes.REGISTER_BROKER, fields), body)


def unregistration(names: Names) -> bytes:
    return frame(json_header(codes.UNREGISTER_BROKER, unregister_ext(names)))


def test_reads_of_a_gone_connection_are_dropped(
    timed_server: TimedServerFactory, names: Names, processed: list[int]
) -> None:
    """Requests that change something keep their order."""
    server = timed_server(**{"rocketns.turnRequestsMax": 1})
    reads = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) * 50
    connection = receive_and_lose(server, reads + registration(names) + reads + unregistration(names) + reads)
    eventually(lambda: server.call(lambda: connection.in_flight) == 0)
    assert processed == [codes.REGISTER_BROKER, codes.UNREGISTER_BROKER]


def test_no_broker_expires_while_a_request_of_it_waits(timed_server: TimedServerFactory, names: Names) -> None:
    """B190: the waiting request may be its heartbeat. If it is not, the broker expires at the next scan."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=1_000)
        connection = server.connection_of(broker)
        connection.begin_request()
        pass_time(server, 6 * SECOND)
        assert group(client, names.broker) is not None
        connection.end_request()
        pass_time(server, 5 * SECOND)
        eventually(lambda: group(client, names.broker) is None)


def test_a_broker_that_is_heard_between_two_pieces_of_a_scan_stays(timed_server: TimedServerFactory) -> None:
    """B190: it was overdue when the scan began."""
    server = timed_server()
    brokers = [Names() for _ in range(EXPIRED_AT_ONCE_MAX + 1)]
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in brokers]
        for connection, names in zip(connections, brokers, strict=True):
            registered(connection, names, heartbeatTimeoutMillis=1_000)
        last = brokers[-1]
        pass_time(server, 4 * SECOND)

        def scan() -> None:
            server.clock.advance(SECOND)
            server.controller.run_due_jobs()
            tables, now = server.controller.core.context.tables, server.clock.now()
            assert tables.refresh(last.cluster, last.addr(), now.ms)

        server.call(scan)
        wait_for_connections(server, 1)
        assert is_open(connections[-1])
        assert group(connections[-1], last.broker) is not None


def assert_is_registered(client: Client, names: Names) -> None:
    assert addrs(client, names.broker) == {"0": names.addr()}
    assert route(client, names.topic("T"))
    assert query_version(client, names, data_version()).ext == {"changed": "false"}


def receive_while(server: TimedServer, new: Client, data: bytes, happens: object) -> None:
    """In one turn of the server's loop, let something happen; then the new connection's request arrives."""
    assert is_open(new)
    connection = server.connection_of(new)

    def step() -> None:
        assert callable(happens)
        happens()
        receive(server, connection, data)

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


def test_many_brokers_that_end_at_once_all_go(timed_server: TimedServerFactory) -> None:
    """B187: also when more connections close at once than unRegisterBrokerQueueCapacity has room for."""
    server = timed_server(unRegisterBrokerQueueCapacity=2)
    brokers = [Names() for _ in range(6)]
    connections = [server.connect() for _ in brokers]
    for connection, names in zip(connections, brokers, strict=True):
        registered(connection, names)
    channels = [server.connection_of(connection) for connection in connections]
    server.call(lambda: [connection.abort(Cause.CHANNEL_CLOSE) for connection in channels])
    with server.connect() as client:
        wait_for_connections(server, 1)
        assert [group(client, names.broker) for names in brokers] == [None] * len(brokers)
    for connection in connections:
        connection.close()


def test_a_broker_that_leaves_and_returns_in_one_batch_has_its_topics(
    timed_server: TimedServerFactory, names: Names
) -> None:
    """When its registration is read, the slots still show topics that it is about to lose."""
    body = register_body(configs(names, ["T", "U"]), data_version())
    fields = register_ext(names.cluster, names.broker, names.addr(1), 0, body)
    registers = frame(json_header(codes.REGISTER_BROKER, fields, version=513), body)
    with timed_server().connect() as client:
        for _ in range(2):
            client.send(registers + unregistration(names) + registers)
            answers = [client.receive() for _ in range(3)]
            assert [(one.code, one.remark) for one in answers] == [(codes.SUCCESS, None)] * 3
            assert ask_route(client, names.topic("T")).code == codes.SUCCESS
