"""Stopping: at once by default, or after a time in which peers get GO_AWAY."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, eventually
from tests.behaviour.calls import get_kv, put_kv, switch
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register
from tests.behaviour.views import ask_route

Start = Callable[..., NameServer]

GO_AWAY = 1500
WAIT_S = 2
SIGNALLED_S = 60.0  # Java closes its own connections first, which takes some seconds
GRACEFULLY: dict[str, object] = {"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": WAIT_S}
STOPPED = {"rocketns": 0, "java": 128 + signal.SIGTERM}
ONEWAY = 2


def ask(client: Client, version: int) -> Answer:
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}, version=version)


@contextmanager
def leaving(server: NameServer) -> Iterator[Client]:
    """A connection opened before the signal; the server now answers GO_AWAY."""
    with server.connect() as client:
        assert ask(client, 513).code == codes.QUERY_NOT_FOUND
        server.process.signal(signal.SIGTERM)
        eventually(lambda: ask(client, 513).code == GO_AWAY, SIGNALLED_S)
        yield client


@pytest.fixture
def patient(start_server: Start) -> Iterator[NameServer]:
    """A server that answers GO_AWAY for a minute before it stops."""
    server = start_server(GRACEFULLY | {"shutdownWaitTimeSeconds": 60})
    yield server
    server.kill()


def test_going_away(patient: NameServer) -> None:
    """B080, B081: until the time is over, peers of 5.3.2 and later get GO_AWAY and older ones are served."""
    with leaving(patient) as client:
        for version in (476, 513, 2**31 - 1):
            answer = ask(client, version)
            assert (answer.code, answer.remark, answer.ext) == (GO_AWAY, "please go away", None)
        for version in (475, 401, 0, -1):
            assert ask(client, version).code == codes.QUERY_NOT_FOUND


def test_the_time_is_that_of_the_property(start_server: Start) -> None:
    """B080: then the server stops, and closes its connections."""
    server = start_server(GRACEFULLY)
    with server.connect() as client:
        assert ask(client, 513).code == codes.QUERY_NOT_FOUND
        began = time.monotonic()
        server.process.signal(signal.SIGTERM)
        assert server.process.wait() == STOPPED[server.kind]
        assert time.monotonic() - began >= WAIT_S
        assert client.is_closed_by_server()


def test_a_request_with_the_answer_go_away_changes_nothing(patient: NameServer, names: Names) -> None:
    """B080, B081: for every code and both encodings. A oneway request gets no answer."""
    fields = {"namespace": names.cluster, "key": "k", "value": "new"}
    with leaving(patient) as client:
        assert client.request(codes.PUT_KV_CONFIG, fields, binary=True).code == GO_AWAY
        assert register(client, names).code == GO_AWAY
        assert ask_route(client, names.topic()).code == GO_AWAY
        assert client.request(9999).code == GO_AWAY
        client.post(codes.PUT_KV_CONFIG, fields, flag=ONEWAY)
        found = client.request(codes.GET_KV_CONFIG, {"namespace": names.cluster, "key": "k"}, version=475)
        assert found.code == codes.QUERY_NOT_FOUND
        assert client.request(codes.PUT_KV_CONFIG, fields, version=475).code == codes.SUCCESS


def test_a_new_connection_is_sent_away_too(patient: NameServer, names: Names) -> None:
    """B080, B081: new connections are still accepted."""
    with leaving(patient), patient.connect() as new:
        assert ask(new, 476).code == GO_AWAY
        assert ask(new, 475).code == codes.QUERY_NOT_FOUND
        assert register(new, names, peer_version=475).code == codes.SUCCESS


def test_the_switch_counts_as_it_is_at_the_signal(start_server: Start) -> None:
    """B080: request 318 may have changed the time."""
    server = start_server({"shutdownWaitTimeSeconds": 60})
    with server.connect() as client:
        switch(client, "enableShutdownGracefully", "true")
    with leaving(server) as client:
        assert ask(client, 476).code == GO_AWAY
    server.kill()


def test_a_second_signal_ends_the_waiting(patient: NameServer) -> None:
    """B080: a second signal ends the wait. A JVM ignores a second signal."""
    if patient.kind == "java":
        pytest.skip("the JVM runs its shutdown hooks to their end whatever signals come")
    with leaving(patient) as client:
        patient.process.signal(signal.SIGTERM)
        assert patient.process.wait(30) == 0
        assert client.is_closed_by_server()


def test_no_waiting_by_default(start_server: Start, names: Names) -> None:
    """B080: no peer gets GO_AWAY. The connections close."""
    server = start_server()
    with server.connect() as client:
        put_kv(client, names.cluster, "k", "v")
        began = time.monotonic()
        server.process.signal(signal.SIGTERM)
        assert server.process.wait() == STOPPED[server.kind]
        assert time.monotonic() - began < 30
        assert client.is_closed_by_server()
    server.start()
    with server.connect() as client:
        assert get_kv(client, names.cluster, "k").ext == {"value": "v"}
