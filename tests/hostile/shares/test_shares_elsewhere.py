"""Control's time is shared by cost over TLS, in the cluster-test mode and during a graceful shutdown as well.

Waits are measured in CPU seconds of the server, as in test_shares.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.fast.clients import CLIENTS, look_up
from tests.hostile.conftest import StartServer
from tests.hostile.shares.test_shares import (
    BEGUN_CPU_S,
    LIST,
    LONGEST_WAIT_CPU_S,
    MANY_FIELDS,
    STOP_CPU_S,
    cpu_of_ended_children,
    flood,
    work_until_registered,
)
from tests.hostile.watch import BUSY_MACHINE_STOP_S, cpu_seconds
from tests.support.tlsclient import TlsClient, TlsPeer

PEERS = 40
HELLOS, SPARE_FILES = 4_000, 200
SERVED = 475  # peers up to this version are served during a graceful shutdown
GO_AWAY = 1500
ATTACKERS_HOST = "127.0.0.2"  # handshakes of one host wait for each other
Flood = Callable[[NameServer], AbstractContextManager[None]]


def send_what_fits(peer: TlsClient, data: bytes) -> None:
    """Send as much as the sockets accept at once, in records of 16 KB."""
    peer.tls.setblocking(False)
    with contextlib.suppress(ssl.SSLWantWriteError, BlockingIOError):
        while data:
            data = data[peer.tls.send(data[: 16 * 1024]) :]


@contextmanager
def requests_over_tls(server: NameServer) -> Iterator[None]:
    """Seconds of work for control over 40 connections. Nobody reads the answers."""
    with ExitStack() as stack:
        peers = [stack.enter_context(TlsClient(server.port)) for _ in range(PEERS)]
        started = cpu_seconds(server)
        for peer in peers:
            send_what_fits(peer, MANY_FIELDS * 50)
        eventually(lambda: cpu_seconds(server) > started + BEGUN_CPU_S)
        yield


@contextmanager
def handshakes(server: NameServer, sent_before: int = 0) -> Iterator[None]:
    """Thousands of connections that ask for a handshake at the same moment: each costs an RSA signature.

    ``sent_before`` bytes of each hello are sent first.
    """
    hello = TlsPeer().shake_hands()
    with TlsClient(server.port), ExitStack() as stack:  # the server has a certificate now
        count = min(HELLOS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES)
        peers = [stack.enter_context(connection_from(ATTACKERS_HOST, server.port)) for _ in range(count)]
        for peer in peers:
            peer.sendall(hello[:sent_before])
        until_idle(server)
        started = cpu_seconds(server)
        os.kill(server.pid, signal.SIGSTOP)
        for peer in peers:
            peer.sendall(hello[sent_before:])
        os.kill(server.pid, signal.SIGCONT)
        eventually(lambda: cpu_seconds(server) > started + BEGUN_CPU_S)
        yield


def until_idle(server: NameServer) -> None:
    """Wait until the server has done all work that is possible so far."""
    used = [-1.0]

    def is_idle() -> bool:
        used.append(cpu_seconds(server))
        return used[-1] == used[-2]

    eventually(is_idle, 60, every_s=0.2)


def connection_from(host: str, port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), source_address=(host, 0))


def rests_of_handshakes(server: NameServer) -> AbstractContextManager[None]:
    """The server has processed the beginnings of the handshakes."""
    return handshakes(server, sent_before=100)


@pytest.mark.usefixtures("open_files_max")
@pytest.mark.parametrize(
    ("flooded", "connect"),
    [
        pytest.param(requests_over_tls, Client, id="requests-plain"),
        pytest.param(requests_over_tls, TlsClient, id="requests-TLS"),
        pytest.param(handshakes, Client, id="handshakes-plain"),
        pytest.param(handshakes, TlsClient, id="handshakes-TLS"),
        pytest.param(rests_of_handshakes, Client, id="rests of handshakes-plain"),
    ],
)
def test_a_broker_registers_while_others_flood_over_tls(
    server: NameServer, flooded: Flood, connect: type[Client]
) -> None:
    """Handshake and registration together wait for less than a second of the server's work."""
    with flooded(server):
        waited = work_until_registered(server, connect)
    assert waited < LONGEST_WAIT_CPU_S


@pytest.mark.usefixtures("open_files_max")
@pytest.mark.parametrize("flooded", [requests_over_tls, handshakes], ids=lambda flooded: flooded.__name__)
def test_sigterm_stops_while_others_flood_over_tls(server: NameServer, flooded: Flood) -> None:
    """The server ends after less than three seconds of work."""
    with flooded(server):
        assert_stops(server)


def assert_stops(server: NameServer) -> None:
    before, used = cpu_of_ended_children(), cpu_seconds(server)
    server.process.signal(signal.SIGTERM)
    assert server.process.wait(BUSY_MACHINE_STOP_S) == 0
    worked = cpu_of_ended_children() - before - used
    print(f"stopped after {worked:.2f} s of work")
    assert worked < STOP_CPU_S


@contextmanager
def silent_name_server() -> Iterator[int]:
    """The port of a server that accepts connections, but neither reads nor answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def in_test_mode(start_server: StartServer, product_port: int) -> NameServer:
    return start_server({"clusterTest": "true"}, options=[f"-Drocketmq.namesrv.addr=127.0.0.1:{product_port}"])


# Where the machine gives the product environment no core for TIMEOUT_S, the topic is not found.
@pytest.mark.flaky(reruns=2)
def test_a_client_is_answered_while_others_flood_in_the_cluster_test_mode(start_server: StartServer) -> None:
    """Its lookups and those of the others go to the product environment's name server."""
    product, names = start_server(), Names()
    with product.connect() as broker:
        registered(broker, names)
        server = in_test_mode(start_server, product.port)
        with flood(server, look_up(CLIENTS[0], "nobody's") * 2_000, PEERS):
            before = cpu_seconds(server)
            with Client(server.port, timeout_s=120) as client:
                assert ask_route(client, names.topic("T")).code == codes.SUCCESS
                waited = cpu_seconds(server) - before
    print(f"answered after {waited:.2f} s of work")
    assert waited < LONGEST_WAIT_CPU_S


def test_sigterm_stops_while_others_flood_in_the_cluster_test_mode(start_server: StartServer) -> None:
    """A product environment that does not answer delays nothing."""
    with silent_name_server() as port:
        server = in_test_mode(start_server, port)
        with flood(server, look_up(CLIENTS[0], "nobody's") * 2_000, PEERS):
            assert_stops(server)


@contextmanager
def going_away(start_server: StartServer, wait_s: int) -> Iterator[NameServer]:
    """A server that stops gracefully, with a flood of requests that it still answers."""
    server = start_server({"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": wait_s})
    with flood(server, MANY_FIELDS * 50, PEERS), server.connect() as client:
        server.process.signal(signal.SIGTERM)
        eventually(lambda: client.request(LIST).code == GO_AWAY)
        yield server


def test_peers_are_sent_away_while_others_flood(start_server: StartServer) -> None:
    """During a graceful shutdown an old broker registers and a new one gets GO_AWAY, as quickly as at other times."""
    with going_away(start_server, 60) as server:
        before = cpu_seconds(server)
        with Client(server.port, timeout_s=120) as old, Client(server.port, timeout_s=120) as new:
            registered(old, Names(), peer_version=SERVED)
            assert new.request(LIST).code == GO_AWAY
            waited = cpu_seconds(server) - before
        server.process.signal(signal.SIGINT)
        assert server.process.wait(BUSY_MACHINE_STOP_S) == 0
    print(f"served and sent away after {waited:.2f} s of work")
    assert waited < LONGEST_WAIT_CPU_S


def test_a_second_signal_ends_a_graceful_shutdown_while_others_flood(start_server: StartServer) -> None:
    """The server ends after less than three seconds of work, however much of the wait is left."""
    with going_away(start_server, 300) as server:
        assert_stops(server)
