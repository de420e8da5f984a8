"""Totals of bytes over all connections: honest brokers and clients get through while strangers fill them."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import NO_TIME_LIMIT, StartLive
from tests.hostile.crowd import (
    HELD,
    SMALL_BUFFER,
    UNFINISHED,
    ended,
    hosts,
    is_cut_off,
    narrow,
    parts_of,
    register_in_parts,
    requests,
    strangers,
    try_to_send,
)
from tests.hostile.witness import MB
from tests.support.ended import is_ended
from tests.support.live import LiveServer
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsClient

LIMIT = 64 * MB
STRANGERS = (LIMIT - 100_000) // HELD  # so many leave 100 KB, or a little more

ADDRESSES = pytest.mark.parametrize("addresses", [hosts(1), hosts(STRANGERS)], ids=["one host", "a host each"])


@ADDRESSES
def test_brokers_register_while_small_holders_fill_the_total(live: StartLive, addresses: list[str]) -> None:
    """Two new brokers with 1.6 MB in three parts are answered; the strangers make room."""
    server = live({"rocketns.incomingBytesMax": LIMIT} | NO_TIME_LIMIT)
    with ExitStack() as stack:
        attackers = strangers(server, stack, STRANGERS, addresses)
        eventually(lambda: server.controller.facts.reactors.incoming_bytes > LIMIT - 2 * MB)
        brokers = [stack.enter_context(server.connect()) for _ in range(2)]
        assert register_in_parts(brokers, lambda: ended(attackers)) == [codes.SUCCESS] * 2
        assert ended(attackers) <= 20
        assert server.controller.facts.reactors.incoming_bytes <= LIMIT + MB


@ADDRESSES
def test_a_registered_broker_is_the_last_to_go(live: StartLive, addresses: list[str]) -> None:
    """It holds more than each stranger and is without progress for longer. Then its frame ends."""
    server = live({"rocketns.incomingBytesMax": LIMIT} | NO_TIME_LIMIT)
    with ExitStack() as stack:
        broker, names = stack.enter_context(server.connect()), Names()
        registered(broker, names)
        *first, last = parts_of(names)
        broker.send(b"".join(first))
        attackers = strangers(server, stack, STRANGERS + 20, addresses)
        eventually(lambda: ended(attackers) >= 20)
        broker.send(last)
        assert broker.receive().code == codes.SUCCESS


@pytest.mark.parametrize(("stranger", "honest"), [(TlsClient, Client), (Client, TlsClient)], ids=["tls", "plain"])
def test_one_total_for_tls_and_plain(live: StartLive, stranger: type[Client], honest: type[Client]) -> None:
    """Strangers of one kind make room for brokers of the other, which another thread may carry."""
    limit = 16 * MB
    server = live({"rocketns.incomingBytesMax": limit} | NO_TIME_LIMIT)
    with ExitStack() as stack:
        attackers = strangers(server, stack, limit // HELD - 1, hosts(limit // HELD), stranger)
        broker = stack.enter_context(honest(server.port))
        assert register_in_parts([broker], lambda: any(map(_is_gone, attackers))) == [codes.SUCCESS]


def _is_gone(client: Client) -> bool:
    if not isinstance(client, TlsClient):
        return is_ended(client)
    client.tls.setblocking(False)
    try:
        return client.tls.recv(1) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


OF_ONE_HOST = 20 * MB // HELD  # more than an eighth of the limit and more than one frame may have
# While bytes come, a reactor was seen to count more than 100 KB too much. There is room for that, but not for two
# parts of a registration.
ROOM = 600_000
OF_OTHERS = (LIMIT - ROOM) // HELD - OF_ONE_HOST
LARGE = "10.2.0.1"
PROXY = "127.0.0.2"


def announcing(server: LiveServer, stack: ExitStack, host: str) -> Client:
    """A connection through the proxy that holds HELD bytes."""
    client = stack.enter_context(Client(server.port, source=PROXY))
    try_to_send(client, v1("TCP4", host, "10.9.9.9", 40_000, 9876) + UNFINISHED + bytes(HELD - len(UNFINISHED)))
    return client


def test_the_announced_host_that_holds_much_makes_room(tmp_path: Path) -> None:
    """Others behind the same proxy stay, though they have made no progress for longer."""
    limit = {"rocketns.incomingBytesMax": LIMIT, "rocketns.trustedProxies": PROXY} | NO_TIME_LIMIT
    with LiveServer(tmp_path, **limit) as server, ExitStack() as stack:
        facts = server.controller.facts.reactors
        announced = [f"10.1.{number // 250}.{number % 250 + 1}" for number in range(OF_OTHERS)]
        others = [announcing(server, stack, host) for host in announced]
        eventually(lambda: facts.incoming_bytes >= OF_OTHERS * HELD)
        large = [announcing(server, stack, LARGE) for _ in range(OF_ONE_HOST)]
        eventually(lambda: facts.incoming_bytes >= (OF_OTHERS + OF_ONE_HOST) * HELD)
        broker = stack.enter_context(server.connect())
        assert register_in_parts([broker], lambda: ended(large) > 0) == [codes.SUCCESS]
        assert (ended(others), ended(large) <= 20) == (0, True)


LIST = codes.GET_KVLIST_BY_NAMESPACE


def put_values(server: LiveServer) -> None:
    """An answer of 1 MB, and one of 8 MB."""
    with server.connect() as client:
        put_kv(client, "small", "k", "v" * MB)
        for number in range(8):
            put_kv(client, "large", f"k{number}", "v" * MB)


@pytest.mark.parametrize("addresses", [hosts(1), hosts(100)], ids=["one host", "a host each"])
def test_a_client_that_takes_its_answer_gets_it(live: StartLive, addresses: list[str]) -> None:
    """Strangers that read nothing fill the total. An answer that is larger than each of theirs is read to its end."""
    total = 32 * MB
    properties = {"rocketns.outgoingBytesTotalMax": total, "serverSocketSndBufSize": SMALL_BUFFER}
    server = live(properties | NO_TIME_LIMIT)
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
