"""Where addresses are, how they are resolved and connected to, and what is spoken there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rocketns.client.tls import client_context
from rocketns.doctor.asking.addresses import UnreachedError, place_of, resolve
from rocketns.doctor.asking.brokers.one import FIRST
from rocketns.doctor.asking.brokers.requests import broker_budget
from rocketns.doctor.asking.call import Line
from rocketns.doctor.asking.speaking import reach
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import Outcome, Place
from rocketns.protocol.command import decode
from tests.client.peers import CLOSED, Peer, Serve, serving
from tests.doctor.counting import FakeBroker, FakeNameServer, listening
from tests.doctor.examining import examine, ill, names
from tests.server.tls_configs import config
from tests.support.certificates import Files, authority


@pytest.mark.parametrize(
    ("ip", "place"),
    [("127.0.0.1", Place.LOOPBACK), ("127.1.2.3", Place.LOOPBACK), ("::1", Place.LOOPBACK), ("0.0.0.0", Place.LOOPBACK),
     ("172.17.0.2", Place.CONTAINER), ("172.20.0.2", Place.CONTAINER), ("10.244.1.7", Place.CONTAINER),
     ("10.42.0.7", Place.CONTAINER), ("172.16.0.1", Place.PRIVATE), ("172.31.0.1", Place.PRIVATE),
     ("10.0.0.1", Place.PRIVATE), ("192.168.1.1", Place.PRIVATE), ("100.64.0.1", Place.PRIVATE),
     ("fd00::1", Place.PRIVATE), ("169.254.1.1", Place.LINK_LOCAL), ("fe80::1%eth0", Place.LINK_LOCAL),
     ("::ffff:127.0.0.1", Place.LOOPBACK), ("8.8.8.8", Place.PUBLIC), ("2a00::1", Place.PUBLIC),
     ("broker-a", Place.UNKNOWN)],
)  # fmt: skip
def test_place_of_an_address(ip: str, place: Place) -> None:
    assert place_of(ip) is place


@pytest.mark.parametrize("addr", ["nobody.invalid:10911", "a..b:1", "no-port", "\udcff:1", ":1", "x" * 300 + ":1"])
def test_host_that_has_no_address_is_unresolved(addr: str) -> None:
    with pytest.raises(UnreachedError) as error:
        asyncio.run(resolve(addr, 20.0))
    assert error.value.outcome is Outcome.UNRESOLVED


def test_host_name_is_resolved_to_ipv4_first() -> None:
    target = asyncio.run(resolve("localhost:10911", 20.0))
    assert (target.ips[0], target.port) == ("127.0.0.1", 10911)


def test_closed_port_refuses() -> None:
    async def scene() -> None:
        name_server = FakeNameServer(groups={"broker-a": ("DefaultCluster", {0: CLOSED})})
        async with listening(name_server):
            report = await examine(name_server)
        assert report.facts.addresses[CLOSED].outcome is Outcome.REFUSED
        assert report.facts.addresses[CLOSED].is_here

    asyncio.run(scene())


@asynccontextmanager
async def only_tls(broker: FakeBroker, files: Files, **verify: ssl.VerifyMode) -> AsyncIterator[None]:
    """It listens with tls.server.mode=enforcing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    context.load_verify_locations(files.certificate)
    context.verify_mode = verify.get("verify", ssl.CERT_NONE)
    one = Peer(serving(broker.answer))
    server = await asyncio.start_server(one.accept, "127.0.0.1", 0, ssl=context)
    one.addr = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    broker.peer = one
    try:
        yield
    finally:
        server.close()
        for writer in one.connections:
            writer.close()


def only_plain(broker: FakeBroker) -> Serve:
    """As Java's server with tls.server.mode=disabled: it ends a connection that begins with a TLS handshake."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            size = await reader.readexactly(4)
            if size[0] == 0x16:
                writer.close()
                return
            writer.write(broker.answer(decode(size + await reader.readexactly(int.from_bytes(size)))))

    return serve


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files.write(tmp_path_factory.mktemp("tls"), authority("broker"))


def test_broker_that_speaks_only_tls_is_told_apart(files: Files) -> None:
    async def scene() -> None:
        broker, name_server = FakeBroker(), FakeNameServer()
        async with listening(name_server), only_tls(broker, files):
            name_server.shows(broker)
            report = await examine(name_server)
        assert report.facts.addresses[broker.addr].outcome is Outcome.SPEAKS_TLS
        assert not broker.received
        assert "tls" in names(ill(report))

    asyncio.run(scene())


def test_broker_that_speaks_only_plain_is_told_apart(files: Files) -> None:
    async def scene() -> None:
        broker, name_server = FakeBroker(), FakeBroker(name="it speaks TLS")
        line = Line(client_context(config(tls_enable="true")), None, 20.0)
        async with listening(broker, serve=only_plain(broker)), only_tls(name_server, files):
            budget = broker_budget(Options(()))
            plain = await reach(broker.addr, FIRST, line, budget)
            tls = await reach(name_server.addr, FIRST, line, budget)
        assert plain.facts.outcome is Outcome.SPEAKS_PLAIN
        assert broker.received == {28: 1}
        assert tls.facts.outcome is Outcome.ANSWERED
        assert tls.call is not None
        tls.call.close()

    asyncio.run(scene())


def test_broker_that_wants_a_certificate_speaks_tls_all_the_same(files: Files) -> None:
    async def scene() -> None:
        broker = FakeBroker()
        async with only_tls(broker, files, verify=ssl.CERT_REQUIRED):
            found = await reach(broker.addr, FIRST, Line(None, None, 20.0), broker_budget(Options(())))
        assert found.facts.outcome is Outcome.SPEAKS_TLS

    asyncio.run(scene())
