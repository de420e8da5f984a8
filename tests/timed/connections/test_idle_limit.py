"""serverChannelMaxIdleTimeSeconds: a connection without a byte for this long is closed."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.calls import put_kv, switch
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import group, route
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import (
    LARGE,
    SECOND,
    is_open,
    pass_time,
    wait_for_bytes,
    wait_for_connections,
    wait_until_sent,
    wait_until_unsent,
)

LIMIT = 120 * SECOND


def test_a_silent_connection_closes_at_the_limit(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """B060: no read and no write for 120 s: closed; its broker is unregistered."""
    caplog.set_level("INFO")
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=10_000_000)
        pass_time(server, LIMIT - SECOND)
        assert not is_ended(broker)
        assert route(client, names.topic("T"))
        server.advance(SECOND)
        assert broker.is_closed_by_server()
        assert "IDLE exception" in caplog.text
        eventually(lambda: group(client, names.broker) is None)
        assert route(client, names.topic("T")) is None


def test_a_request_starts_the_time_anew(timed_server: TimedServerFactory) -> None:
    """B060: the limit counts from the last request and its answer."""
    server = timed_server()
    with server.connect() as client:
        for _ in range(3):
            assert is_open(client)
            pass_time(server, LIMIT - SECOND)
        server.advance(SECOND)
        assert client.is_closed_by_server()


def test_a_part_of_a_frame_starts_the_time_anew(timed_server: TimedServerFactory) -> None:
    """B060: partial bytes count as reads."""
    server = timed_server(**{"rocketns.progressSeconds": 0})
    with server.connect() as client:
        assert is_open(client)
        for n, byte in enumerate(frame(json_header(codes.GET_NAMESRV_CONFIG))[:3]):
            pass_time(server, LIMIT - SECOND)
            client.send(bytes([byte]))
            wait_for_bytes(server, n + 1)
        pass_time(server, LIMIT - SECOND)
        assert not is_ended(client)
        server.advance(SECOND)
        assert client.is_closed_by_server()


def test_a_part_of_a_frame_does_not_wait_longer(timed_server: TimedServerFactory) -> None:
    """B049: the server waits for the rest of a truncated frame until the idle limit, and then frees its bytes."""
    server = timed_server(**{"rocketns.progressSeconds": 0})
    with server.connect() as client, server.connect() as other:
        client.send(frame(json_header(codes.GET_NAMESRV_CONFIG))[:-1])
        wait_for_bytes(server, len(frame(json_header(codes.GET_NAMESRV_CONFIG))) - 1)
        pass_time(server, LIMIT - SECOND)
        assert is_open(other)
        server.advance(SECOND)
        assert client.is_closed_by_server()
        wait_for_bytes(server, 0)
        assert is_open(other)


def test_an_answer_that_is_taken_late_starts_the_time_anew(timed_server: TimedServerFactory) -> None:
    """B060: writes count: the limit starts when the peer reads the answer, not when the answer is made."""
    server = timed_server(
        **{"rocketns.progressSeconds": 0, "rocketns.kvBytesMax": 2 * LARGE, "rocketns.kvValueBytesMax": LARGE}
    )
    with server.connect() as client, server.connect() as reader:
        put_kv(client, "ns", "k", "v" * LARGE)
        ask_without_reading(server, reader)
        pass_time(server, LIMIT - SECOND)
        assert len(reader.receive().body or b"") > LARGE
        wait_until_sent(server)
        pass_time(server, LIMIT - SECOND)
        assert not is_ended(reader)
        server.advance(SECOND)
        assert reader.is_closed_by_server()


def ask_without_reading(server: TimedServer, reader: Client) -> None:
    """Ask for the large value; return when a part of the answer is unsent in the server."""
    reader.post(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns"})
    wait_until_unsent(server)


def test_a_changed_limit_is_felt_by_new_connections(timed_server: TimedServerFactory) -> None:
    """B061: idle limit changed through 318: only new connections."""
    server = timed_server()
    with server.connect() as old:
        switch(old, "serverChannelMaxIdleTimeSeconds", 4)
        with server.connect() as new:
            wait_for_connections(server, 2)
            pass_time(server, 3 * SECOND)
            assert not is_ended(new)
            server.advance(SECOND)
            assert new.is_closed_by_server()
        pass_time(server, LIMIT - 5 * SECOND)
        assert not is_ended(old)
        server.advance(SECOND)
        assert old.is_closed_by_server()


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit(timed_server: TimedServerFactory, limit: int) -> None:
    """B060: for Netty's IdleStateHandler 0 and less mean no limit."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=limit)
    with server.connect() as client:
        wait_for_connections(server, 1)
        server.advance(30 * 24 * 3600 * SECOND)
        assert not is_ended(client)
        assert is_open(client)
