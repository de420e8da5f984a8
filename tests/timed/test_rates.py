"""hostRequestsPerSecond and hostConnectionsPerSecond over real sockets: who is refused, how, and who is not."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, frame, json_header
from rocketns.server.control.answering import BEYOND_RATE
from tests.behaviour.conftest import Names
from tests.hostile.crowd import SMALL_BUFFER
from tests.support.certificates import Files, authority
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsClient
from tests.support.tlsfiles import tls_properties
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, fill, wait_until_unsent

ROUTE, LIST = codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
BUSY = (codes.SYSTEM_BUSY, BEYOND_RATE.remark)
OTHER_HOST = "127.0.0.2"
ODD = frame(b'{ "code": 206, "opaque": 77, "flag": 0 }')  # with blanks, which no reactor reads


def asked(client: Client, count: int, code: int = ROUTE, *, binary: bool = False) -> int:
    """How many of so many requests are not answered BUSY."""
    answers = [client.request(code, {"topic": "none"}, binary=binary) for _ in range(count)]
    return sum((answer.code, answer.remark) != BUSY for answer in answers)


def reports(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "rocketns.rates"]


def refused(server: TimedServer) -> tuple[int, int]:
    return server.controller.facts.reactors.hosts.refused


@pytest.mark.parametrize(("code", "binary"), [(ROUTE, False), (LIST, True)], ids=["lookups", "binary lists"])
def test_requests_beyond_the_rate_are_answered_busy_until_a_second_has_passed(
    timed_server: TimedServerFactory, code: int, binary: bool
) -> None:
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 5})
    with server.connect() as client, server.connect() as second, Client(server.port, source=OTHER_HOST) as other:
        assert asked(client, 8, code, binary=binary) == 5
        server.advance(400)
        assert asked(second, 8, code, binary=binary) == 2
        server.advance(SECOND)
        assert asked(client, 8, code, binary=binary) == 5
        assert asked(other, 5, code, binary=binary) == 5
    assert refused(server) == (12, 0)


def test_a_oneway_request_or_a_response_beyond_the_rate_is_not_answered(timed_server: TimedServerFactory) -> None:
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 1})
    with server.connect() as client:
        assert asked(client, 1) == 1
        for flag in (1, 2, 3):
            client.send(frame(json_header(LIST, {}, flag=flag)))
        assert asked(client, 1) == 0  # and this is the next answer
    assert refused(server) == (4, 0)


def test_a_header_that_no_reactor_reads_is_refused_by_control(timed_server: TimedServerFactory) -> None:
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 1})
    with server.connect() as client:
        client.send(ODD + ODD + frame(ODD[8:], bytes(100_000)))
        answers = [client.receive() for _ in range(3)]
        assert [(answer.code, answer.opaque) for answer in answers] == [
            (codes.SUCCESS, 77), (codes.SYSTEM_BUSY, 77), (codes.SYSTEM_BUSY, 77),
        ]  # fmt: skip
        assert {answer.remark for answer in answers[1:]} == {BEYOND_RATE.remark}
        server.advance(SECOND)
        assert asked(client, 1) == 1


def test_a_registered_broker_is_served_beside_a_flood_of_its_own_host(
    timed_server: TimedServerFactory, names: Names
) -> None:
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 2})
    body = register_body([topic_config(names.topic("T")), topic_config(names.topic("U"))])
    fields = register_ext(names.cluster, names.broker, body=body)
    with server.connect() as broker, server.connect() as flood:
        assert broker.request(codes.REGISTER_BROKER, fields, body).code == codes.SUCCESS
        assert asked(flood, 50) == 1
        assert broker.request(codes.REGISTER_BROKER, fields, body).code == codes.SUCCESS
        assert broker.request(codes.REGISTER_BROKER, fields, body).code == codes.SUCCESS
        assert broker.request(codes.REGISTER_BROKER, fields, body).code == codes.SYSTEM_BUSY


def test_a_tls_connection_has_the_rate_of_its_host(
    timed_server: TimedServerFactory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = Files.write(tmp_path_factory.mktemp("tls"), authority("ca").issue("server"))
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 3}, **tls_properties(files))
    with server.connect() as plain, TlsClient(server.port) as encrypted:
        assert asked(plain, 2) == 2
        assert asked(encrypted, 5) == 1
        assert asked(plain, 5) == 0


def test_who_announces_many_hosts_has_one_rate(timed_server: TimedServerFactory) -> None:
    """Any peer can send PROXY headers."""
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 3})
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(6)]
        for number, client in enumerate(clients):
            client.send(v1("TCP4", f"192.0.2.{number}", "192.0.2.99", 1000, 9876))
        assert sum(asked(client, 1) for client in clients) == 3


def test_behind_a_trusted_proxy_each_announced_host_has_its_own_rate(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "rocketns.rates")
    server = timed_server(**{"rocketns.hostRequestsPerSecond": 3, "rocketns.trustedProxies": "127.0.0.0/8"})
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(6)]
        for number, client in enumerate(clients):
            client.send(v1("TCP4", f"192.0.2.{number // 2}", "192.0.2.99", 1000 + number, 9876))
        assert [asked(client, 2) for client in clients] == [2, 1, 2, 1, 2, 1]
        server.advance(10 * SECOND)
    hosts = [f"192.0.2.{number}" for number in range(3)]
    assert [line.split()[2] for line in reports(caplog)] == hosts


def test_connections_beyond_the_rate_are_closed_and_the_open_ones_are_not(timed_server: TimedServerFactory) -> None:
    server = timed_server(**{"rocketns.hostConnectionsPerSecond": 2})
    with server.connect() as one, server.connect() as two:
        assert asked(one, 1) == asked(two, 1) == 1
        for _ in range(3):
            with server.connect() as late:
                assert late.is_closed_by_server()
        with Client(server.port, source=OTHER_HOST) as other:
            assert asked(other, 1) == 1
        server.advance(500)
        with server.connect() as back:
            assert asked(back, 1) == 1
        assert asked(one, 9) == asked(two, 9) == 9
    assert refused(server) == (0, 3)


def test_a_peer_that_does_not_read_its_refusals_is_not_read(timed_server: TimedServerFactory) -> None:
    """Their bytes count as unsent answers, so they stay below a bound. The reactor waits for it: it does not spin."""
    settings = {"rocketns.hostRequestsPerSecond": 1, "rocketns.reactors": 1, "serverSocketSndBufSize": SMALL_BUFFER}
    server = timed_server(**settings)
    reactors = server.reactors
    assert reactors is not None
    with server.connect() as client, server.connect() as other:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        fill(client.socket, frame(json_header(LIST, {})) * 1_000)
        wait_until_unsent(server)
        rounds, before = sum(reactors.rounds), refused(server)[0]
        assert asked(other, 500) == 0
        assert sum(reactors.rounds) - rounds <= 4 * (refused(server)[0] - before), "a round for nothing"
        assert server.call(lambda: server.outgoing_bytes) < 1_000_000
