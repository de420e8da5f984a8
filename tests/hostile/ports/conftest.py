"""A server with both HTTP ports."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.hostile.conftest import assert_nothing_unforeseen, spare_the_machine


@dataclass(frozen=True)
class Ports:
    """A running server, and where its HTTP ports are: name to number."""

    server: NameServer
    by_name: dict[str, int]


@pytest.fixture(scope="module")
def ports(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """For all tests of a file. At the end, none of them may have caused an unexpected error."""
    by_name = {"management": free_port(), "addresses": free_port()}
    settings = {"rocketns.adminPort": by_name["management"], "rocketns.addressServer": by_name["addresses"]}
    server = server_class(tmp_path_factory.mktemp("ports"), settings)
    spare_the_machine(server)
    # From then on it has the connection over which it asks itself.
    eventually(lambda: f":{server.port}".encode() in asked(by_name["addresses"], b"/rocketmq/nsaddr"))
    yield Ports(server, by_name)
    assert server.stop() == 0
    assert_nothing_unforeseen(server)


def asked(port: int, path: bytes) -> bytes:
    """The whole answer to a GET."""
    with socket.create_connection(("127.0.0.1", port), 60) as peer:
        peer.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
        with peer.makefile("rb") as answer:
            return answer.read()
