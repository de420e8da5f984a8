"""Answers that nobody takes, and the requests that wait behind them: who is closed when they exceed their totals."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.behaviour.calls import put_kv
from tests.hostile.conftest import NO_TIME_LIMIT, StartServer
from tests.hostile.shares.test_limits import is_cut_off, requests
from tests.hostile.totals.crowd import SMALL_BUFFER, hosts, narrow
from tests.hostile.watch import MB, Watch

ADDRESSES = pytest.mark.parametrize("addresses", [hosts(1), hosts(100)], ids=["one host", "a host each"])
STRANGERS_MAX = 400
LIST = codes.GET_KVLIST_BY_NAMESPACE


def put_values(server: NameServer) -> None:
    """An answer of 1 MB, and one of 8 MB."""
    with server.connect() as client:
        put_kv(client, "small", "k", "v" * MB)
        for number in range(8):
            put_kv(client, "large", f"k{number}", "v" * MB)


@ADDRESSES
def test_a_client_that_takes_its_answer_gets_it(start_server: StartServer, addresses: list[str]) -> None:
    """Strangers that read nothing fill the total. An answer that is larger than each of theirs is read to its end."""
    total = 32 * MB
    properties = {"rocketns.outgoingBytesTotalMax": total, "serverSocketSndBufSize": SMALL_BUFFER}
    server = start_server(properties | NO_TIME_LIMIT)
    put_values(server)
    with ExitStack() as stack:
        strangers = [narrow(server.port, stack, addresses[number % len(addresses)]) for number in range(31)]
        for client in strangers:
            client.send(requests(LIST, 1, namespace="small"))
        for client in strangers:
            assert client.socket.recv(1, socket.MSG_PEEK)  # its answer is written
        honest = narrow(server.port, stack)
        honest.send(requests(LIST, 1, namespace="large"))
        assert len(honest.receive().body or b"") > 8 * MB
        eventually(lambda: sum(map(is_cut_off, strangers)) >= 4)


@ADDRESSES
def test_requests_behind_answers_that_nobody_takes(start_server: StartServer, addresses: list[str]) -> None:
    """Strangers' requests fill the room for waiting ones. A peer with more of them reads late, and gets its answers."""
    incoming = 16 * MB  # a quarter of it is for requests that wait for their peer
    properties = {"rocketns.incomingBytesMax": incoming, "serverSocketSndBufSize": SMALL_BUFFER}
    server = start_server(properties | NO_TIME_LIMIT)
    put_values(server)
    request = requests(LIST, 1, bytes(50_000), namespace="small")
    watch = Watch(server)
    with ExitStack() as stack:
        strangers = [narrow(server.port, stack, addresses[number % len(addresses)]) for number in range(35)]
        for client in strangers[:20]:
            client.send(request * 4)
        eventually(lambda: watch.peak_growth() > 15 * MB)  # so most of them came before the honest peer
        honest = narrow(server.port, stack)
        honest.send(request * 10)
        for client in strangers[20:]:
            client.send(request * 4)
        while server.mode != "asyncio" and not any(map(is_cut_off, strangers)):
            # If the first is answered quickly, the others stay in the kernel, as most do without reactors.
            assert len(strangers) < STRANGERS_MAX
            strangers.append(narrow(server.port, stack, addresses[len(strangers) % len(addresses)]))
            strangers[-1].send(request * 4)
        assert [honest.receive().code for _ in range(10)] == [codes.SUCCESS] * 10
