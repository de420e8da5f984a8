"""Many strangers that hold a little each fill a total. Honest brokers that hold more register all the same."""

from __future__ import annotations

import ssl
from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import NO_TIME_LIMIT, StartServer
from tests.hostile.totals.crowd import HELD, ended, hosts, parts_of, register_in_parts, strangers
from tests.hostile.watch import MB, Watch
from tests.support.ended import is_ended
from tests.support.tlsclient import TlsClient

LIMIT = 64 * MB
STRANGERS = (LIMIT - 100_000) // HELD  # so many leave 100 KB, or a little more
ADDRESSES = pytest.mark.parametrize(
    "addresses", [hosts(1), hosts(32), hosts(STRANGERS)], ids=["one host", "32 hosts", "a host each"]
)


@ADDRESSES
def test_brokers_register_while_small_holders_fill_the_total(start_server: StartServer, addresses: list[str]) -> None:
    """Two new brokers with 1.6 MB in three parts are answered; the strangers make room."""
    server = start_server({"rocketns.incomingBytesMax": LIMIT} | NO_TIME_LIMIT)
    watch = Watch(server)
    with ExitStack() as stack:
        attackers = strangers(server, stack, STRANGERS, addresses)
        eventually(lambda: watch.peak_growth() > LIMIT - 2 * MB)
        brokers = [stack.enter_context(server.connect()) for _ in range(2)]
        assert register_in_parts(brokers, lambda: ended(attackers)) == [codes.SUCCESS] * 2
        assert ended(attackers) <= 20
        assert watch.peak_growth() < 2 * LIMIT


@ADDRESSES
def test_a_registered_broker_is_the_last_to_go(start_server: StartServer, addresses: list[str]) -> None:
    """It holds more than each stranger and is without progress for longer. Then its frame ends."""
    server = start_server({"rocketns.incomingBytesMax": LIMIT} | NO_TIME_LIMIT)
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
def test_one_total_for_tls_and_plain(start_server: StartServer, stranger: type[Client], honest: type[Client]) -> None:
    """Strangers of one kind make room for brokers of the other, which another thread may carry."""
    limit = 16 * MB
    server = start_server({"rocketns.incomingBytesMax": limit} | NO_TIME_LIMIT)
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
