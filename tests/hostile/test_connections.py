"""Limits of connections: too many, half closed, opened and reset at once."""

from __future__ import annotations

import resource
import socket
import struct
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.hostile.conftest import StartServer
from tests.hostile.witness import MB, Witness, leaves_nothing, open_files

OPEN_FILES = 150  # of a server with a low limit
LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
REQUEST = frame(json_header(LIST, opaque=1))


def answers(client: Client) -> bool:
    return client.request(LIST).code == codes.SUCCESS


def test_connections_beyond_the_limit(start_server: StartServer) -> None:
    """A connection beyond connectionsMax is closed at once. The others stay, and each that closes makes room."""
    server = start_server({"rocketns.connectionsMax": 50})
    with leaves_nothing(server), Witness(server), ExitStack() as stack:
        within = [stack.enter_context(server.connect()) for _ in range(49)]
        assert all(answers(client) for client in within)
        for _ in range(100):
            with server.connect() as beyond:
                assert beyond.is_closed_by_server()
        assert all(answers(client) for client in within)
        within[0].close()
        eventually(lambda: is_let_in(server))


def is_let_in(server: NameServer) -> bool:
    try:
        with server.connect() as client:
            return answers(client)
    except ConnectionError:
        return False


def test_more_connections_than_open_files(server_class: type[NameServer], tmp_path: Path) -> None:
    """connectionsMax is lowered to fit `ulimit -n`, so accepting never runs out of files, not even in bursts."""

    class NarrowServer(server_class):  # type: ignore[misc, valid-type]
        """A server with a low limit of open files."""

        def command(self) -> list[str]:
            return ["sh", "-c", f'ulimit -n {OPEN_FILES} && exec "$@"', "sh", *super().command()]

    server = NarrowServer(tmp_path / "ns")
    try:
        with leaves_nothing(server), Witness(server):
            for _ in range(3):
                with ExitStack() as stack:
                    for _ in range(400):
                        stack.enter_context(connecting(server))
        with server.connect() as client:
            assert answers(client)
    finally:
        server.stop()
    assert "at most 69 connections" in server.process.text()
    assert "out of system resource" not in server.process.text()


def connecting(server: NameServer) -> socket.socket:
    """Begin to open a connection; does not wait."""
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", server.port))
    return one


def test_no_more_open_files_for_a_while(server: NameServer) -> None:
    """The limit is lowered while the server runs: connected peers are served, waiting ones are served later."""
    process = psutil.Process(server.pid)
    with Witness(server), ExitStack() as stack:
        usual = process.rlimit(resource.RLIMIT_NOFILE)
        process.rlimit(resource.RLIMIT_NOFILE, ((before := open_files(server)) + 10, usual[1]))
        waiting = [stack.enter_context(server.connect()) for _ in range(100)]
        eventually(lambda: open_files(server) >= before + 8)
        process.rlimit(resource.RLIMIT_NOFILE, usual)
        assert all(answers(client) for client in waiting)
    log = server.process.text()
    assert len(log) < MB, f"{len(log)} characters were logged"


def test_half_closed_connections(shared_server: NameServer) -> None:
    """B050: the peer sends a request and shuts down its side: the connection closes, with or without an answer."""
    with leaves_nothing(shared_server), Witness(shared_server):
        for n in range(400):
            with shared_server.connect() as client:
                client.send(REQUEST * 3 if n % 2 else REQUEST[:-1])
                client.socket.shutdown(socket.SHUT_WR)
                while client.socket.recv(65_536):
                    pass


@pytest.mark.parametrize("data", [b"", REQUEST[:20], REQUEST * 50], ids=["nothing", "a part", "requests"])
def test_connect_and_reset(shared_server: NameServer, data: bytes) -> None:
    """B187: hundreds of connections that are reset at once, with and without requests, leave nothing behind."""
    with leaves_nothing(shared_server), Witness(shared_server):
        for _ in range(600):
            with socket.create_connection(("127.0.0.1", shared_server.port)) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.sendall(data)
