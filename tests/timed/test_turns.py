"""The work of one turn of control, and the work left for the next turn."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.wire import eventually, frame, json_header
from rocketns.processor import dispatch
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol import command
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.server.control.expiry import EXPIRED_AT_ONCE_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, registered
from tests.behaviour.views import group
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, connection_of, is_open, pass_time, wait_for_connections


@pytest.fixture
def reactors() -> int:
    """These tests are about one turn of the loop, so the loop itself carries the connections."""
    return 0


@pytest.fixture
def processed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the codes of all processed requests."""
    seen: list[int] = []
    process = dispatch.process

    def watched(context: NamesrvContext, request: RemotingCommand, peer: Connection, now: Now) -> Reply:
        seen.append(request.code)
        return process(context, request, peer, now)

    monkeypatch.setattr(dispatch, "process", watched)
    return seen


def registration(names: Names) -> bytes:
    body = register_body(configs(names, ["T", "U"]), None)
    fields = register_ext(names.cluster, names.broker, names.addr(), 0, body)
    return frame(json_header(codes.REGISTER_BROKER, fields), body)


def unregistration(names: Names) -> bytes:
    fields = {"clusterName": names.cluster, "brokerName": names.broker, "brokerAddr": names.addr(), "brokerId": "0"}
    return frame(json_header(codes.UNREGISTER_BROKER, fields))


def test_reads_of_a_gone_connection_are_dropped(
    timed_server: TimedServerFactory, names: Names, processed: list[int]
) -> None:
    """Requests that change something keep their order."""
    server = timed_server(**{"rocketns.turnRequestsMax": 1})
    reads = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) * 50
    with server.connect() as client:
        connection = connection_of(server, client)

        def receive_and_lose() -> None:
            connection.data_received(reads + registration(names) + reads + unregistration(names) + reads)
            connection.abort(Cause.CHANNEL_CLOSE)

        server.call(receive_and_lose)
        wait_for_connections(server, 0)
        eventually(lambda: server.call(lambda: connection.in_flight) == 0)
    assert processed == [codes.REGISTER_BROKER, codes.UNREGISTER_BROKER]


def test_a_broker_that_leaves_and_comes_back_at_once_stays(timed_server: TimedServerFactory, names: Names) -> None:
    """However many other unregistrations wait."""
    server = timed_server(**{"rocketns.turnRequestsMax": 1_000})
    with server.connect() as broker, server.connect() as client:
        registered(broker, names)
        others = b"".join(unregistration(Names()) for _ in range(100))
        broker.send(others + unregistration(names) + registration(names))
        assert [broker.receive().code for _ in range(102)] == [codes.SUCCESS] * 102
        eventually(lambda: server.call(lambda: len(server.controller.core.context.unregister_queue)) == 0)
        assert group(client, names.broker) is not None


def test_no_broker_expires_while_a_request_of_it_waits(timed_server: TimedServerFactory, names: Names) -> None:
    """B190: the waiting request may be its heartbeat. If it is not, the broker expires at the next scan."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=1_000)
        connection = connection_of(server, broker)
        connection.begin_request()
        pass_time(server, 6 * SECOND)
        assert group(client, names.broker) is not None
        connection.end_request()
        pass_time(server, 5 * SECOND)
        eventually(lambda: group(client, names.broker) is None)


def test_many_brokers_expire_in_pieces_and_all_of_them(timed_server: TimedServerFactory) -> None:
    """B190: more than one piece of the scan, and of the unregistrations, holds."""
    server = timed_server()
    brokers = [Names() for _ in range(150)]
    with server.connect() as client:
        connections = [server.connect() for _ in brokers]
        for connection, names in zip(connections, brokers, strict=True):
            registered(connection, names, heartbeatTimeoutMillis=1_000)
        pass_time(server, 5 * SECOND)
        eventually(lambda: all(group(client, names.broker) is None for names in brokers))
        for connection in connections:
            connection.close()


def test_reads_of_a_gone_connection_are_not_even_decoded(
    timed_server: TimedServerFactory, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, decoded, decode = timed_server(), [], command.decode

    def watched(frame: bytes | memoryview, *more: int) -> RemotingCommand:
        decoded.append(decode(frame).code)
        return decode(frame, *more)

    monkeypatch.setattr(command, "decode", watched)
    reads = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) * 1_000
    with server.connect() as client:
        connection = connection_of(server, client)

        def receive_and_lose() -> None:
            connection.data_received(registration(names) + reads)
            connection.abort(Cause.CHANNEL_CLOSE)

        server.call(receive_and_lose)
        wait_for_connections(server, 0)
        eventually(lambda: server.call(lambda: connection.in_flight) == 0)
    assert len(decoded) < 500


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
