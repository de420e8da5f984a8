"""TLS as a stranger would try it, on real sockets: cut, damaged and stalled, and what must go on beside it."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path

import psutil
import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually
from rocketns._fast.connections.connection import Ending
from tests.compiled.parts import tls_bytes
from tests.fast.lookups import CLIENTS, look_up, looked_up
from tests.support.certificates import Files, authority
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.support.live import LiveServer
from tests.support.policies import whole
from tests.support.proxyheaders import v1
from tests.support.tlsclient import REFUSED, TlsClient, TlsPeer, Updating, any_server, only
from tests.support.tlsfiles import tls_properties, verifying

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
VERSIONS = [TLS12, TLS13]
ENDS: dict[str, Callable[[socket.socket], None]] = {
    "FIN": lambda one: one.shutdown(socket.SHUT_WR),
    "RST": lambda one: one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
}


PATIENT = {"rocketns.progressSeconds": 0, "serverChannelMaxIdleTimeSeconds": 86_400}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """It has the topic T. The broker is silent for as long as the tests take."""
    home = tmp_path_factory.mktemp("tls")
    properties = tls_properties(Files.write(home / "files", authority("ours").issue("server")))
    with LiveServer(home, 1, **properties, **PATIENT) as started, started.connect() as broker:
        body = register_body([topic_config("T"), topic_config("U")])
        ext = register_ext(body=body, heartbeatTimeoutMillis=86_400_000)
        assert broker.request(codes.REGISTER_BROKER, ext, body).code == 0
        yield started


def is_answered(client: Client) -> bool:
    return b'"opaque":7,' in looked_up(client)


@pytest.fixture
def server(running: LiveServer) -> Iterator[LiveServer]:
    """Whatever a test did, others are served, and nothing of its connections stays."""
    server = running
    yield server
    with TlsClient(server.port) as client, server.connect() as plain:
        assert is_answered(client)
        assert is_answered(plain)
    eventually(lambda: server.call(lambda: server.reactors.connections) == 1)  # the broker's
    eventually(lambda: tls_bytes(server.reactors) == 0)
    eventually(lambda: descriptors_of(server) == 1)


def descriptors_of(server: LiveServer) -> int:
    """Sockets of accepted connections. The server is a part of this process."""
    found = psutil.Process().net_connections("tcp")
    return sum(one.laddr.port == server.port and one.status != psutil.CONN_LISTEN for one in found)


def ended(server: LiveServer, ending: Ending) -> int:
    transport = server.transport
    return server.call(lambda: transport.endings[ending])


def handshake(client: Client, peer: TlsPeer | Updating, *, size: int = 1 << 16) -> None:
    """A handshake whose bytes are sent in pieces of that size."""
    data = peer.shake_hands()
    while True:
        for at in range(0, len(data), size):
            client.send(data[at : at + size])
        if peer.handshaken:
            return
        data = peer.shake_hands(client.socket.recv(1 << 16))


def plain_of(client: Client, peer: TlsPeer | Updating, size: int) -> bytes:
    plain = b""
    while len(plain) < size:
        received = client.socket.recv(1 << 16)
        assert received, "closed by the server"
        plain += peer.decrypt(received)
    return plain


@pytest.mark.parametrize("header", [b"", v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)], ids=["", "proxied"])
@pytest.mark.parametrize("version", VERSIONS)
def test_byte_by_byte(server: LiveServer, version: ssl.TLSVersion, header: bytes) -> None:
    """A PROXY header, the hello, and requests in records of one byte."""
    peer, request = TlsPeer(only(version)), look_up(CLIENTS[0])
    with server.connect() as client:
        for byte in header:
            client.send(bytes([byte]))
        handshake(client, peer, size=1)
        for byte in request:
            for each in peer.encrypt(bytes([byte])):
                client.send(bytes([each]))
        assert plain_of(client, peer, 4)


@pytest.mark.parametrize("version", VERSIONS)
def test_many_requests_in_a_few_records(server: LiveServer, version: ssl.TLSVersion) -> None:
    """More than one turn serves. Their plain text is out of OpenSSL, so no event of the socket is needed."""
    before = server.answered_by_reactors()
    request = look_up(CLIENTS[0])
    with TlsClient(server.port, context=only(version)) as client:
        client.send(request * 500)
        for _ in range(500):
            assert b'"opaque":7,' in client.receive_frame()
    assert server.answered_by_reactors() == before + 500


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_together_with_the_end_of_the_handshake_and_of_tls(
    server: LiveServer, version: ssl.TLSVersion
) -> None:
    """All in one segment. The answers come first, then close_notify."""
    peer, request = TlsPeer(only(version)), look_up(CLIENTS[0])
    with server.connect() as client:
        data = peer.shake_hands()
        while not peer.handshaken:
            client.send(data)
            data = peer.shake_hands(client.socket.recv(1 << 16))
        if version == TLS12:  # it ends with a message of the server
            client.send(data)
            data = b""
        client.send(data + peer.encrypt(request) + peer.end())
        plain = b""
        while not peer.ended:
            received = client.socket.recv(1 << 16)
            assert received, "closed without close_notify"
            plain += peer.decrypt(received)
        assert b'"opaque":7,' in plain


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_resumed(server: LiveServer, version: ssl.TLSVersion) -> None:
    context = only(version)
    with TlsClient(server.port, context=context) as client:
        assert is_answered(client)
        session = client.tls.session
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        again = context.wrap_socket(plain, session=session)
        assert again.session_reused
        again.close()


def test_a_peer_that_reads_late_gets_all_answers(server: LiveServer) -> None:
    """Records that the socket does not take wait, and are sent in their order."""
    request = look_up(CLIENTS[0])
    with TlsClient(server.port) as client:
        client.tls.settimeout(60)
        sent = 0
        client.tls.setblocking(False)
        with suppress(ssl.SSLWantWriteError):
            while sent < 60_000:
                client.tls.send(request * 20)
                sent += 20
        client.tls.settimeout(60)
        for _ in range(sent):
            assert b'"opaque":7,' in client.receive_frame()


@pytest.mark.parametrize("kind", ["type", "length", "flipped", "none"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_damaged_record_closes_the_connection(server: LiveServer, version: ssl.TLSVersion, kind: str) -> None:
    """After the handshake: an alert, and the end."""
    before = ended(server, Ending.TLS_FAILED)
    peer = TlsPeer(only(version))
    with server.connect() as client:
        handshake(client, peer)
        record = bytearray(peer.encrypt(look_up(CLIENTS[0])))
        if kind == "type":
            record[0] = 24
        elif kind == "length":
            record[3:5] = b"\xff\xff"
        elif kind == "flipped":
            record[-1] ^= 1
        client.send(bytes(record) if kind != "none" else b"no record of TLS at all")
        with suppress(ConnectionError, ssl.SSLError):
            while received := client.socket.recv(1 << 16):
                assert b"opaque" not in peer.decrypt(received)
    eventually(lambda: ended(server, Ending.TLS_FAILED) == before + 1)


@pytest.mark.parametrize("rounds", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_damaged_hellos(server: LiveServer, rounds: int) -> None:
    """Each ends in an alert or with the connection, or is still a hello."""
    rng, hello = random.Random(rounds), TlsPeer().shake_hands()
    for _ in range(rounds):
        with ExitStack() as stack:
            for _ in range(50):
                data = bytearray(hello)
                for _ in range(rng.randint(1, 4)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
                if rng.random() < 0.3:
                    del data[rng.randrange(len(data)) :]
                client = stack.enter_context(server.connect())
                with suppress(ConnectionError):
                    client.send(bytes(data))


@pytest.mark.parametrize("rounds", [20, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_end_in_every_state(server: LiveServer, version: ssl.TLSVersion, end: str, rounds: int) -> None:
    """No descriptor stays, and no memory is counted any more."""
    request = look_up(CLIENTS[0])
    for _ in range(rounds):
        peer = TlsPeer(only(version))
        hello = peer.shake_hands()
        for size in (1, 11, 12, len(hello) // 2, len(hello)):
            with server.connect() as client:
                client.send(hello[:size])
                ENDS[end](client.socket)
        with server.connect() as client:
            client.send(hello)
            peer.shake_hands(client.socket.recv(1 << 16))
            ENDS[end](client.socket)
        for size in (0, 3, 30, len(request)):
            peer = TlsPeer(only(version))
            with server.connect() as client:
                handshake(client, peer)
                client.send(peer.encrypt(request)[:size])
                ENDS[end](client.socket)


def test_handshakes_that_stop_do_not_stop_others(server: LiveServer) -> None:
    """Others are served, whatever waits. Nothing of the stopped ones is left after their end."""
    hello = TlsPeer().shake_hands()
    with ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(server.connect()).send(hello)
        eventually(lambda: tls_bytes(server.reactors) >= 400 * 16 * 1024)
        with TlsClient(server.port) as client:
            assert is_answered(client)


def test_a_handshake_that_takes_too_long_ends(tmp_path: Path) -> None:
    """And a PROXY header, which counts as its beginning. A silent connection is only idle."""
    properties = tls_properties(Files.write(tmp_path / "files", authority("ours").issue("server")))
    with (
        TimedServer(tmp_path, {"rocketns.reactors": 1} | properties) as server,
        server.connect() as hello,
        server.connect() as header,
        server.connect() as silent,
    ):
        hello.send(TlsPeer().shake_hands()[:40])
        header.send(b"PROXY TCP4 ")
        eventually(lambda: server.call(lambda: server.reactors.connections) == 3)
        server.wait_until_read(hello)
        server.wait_until_read(header)
        for _ in range(9):
            server.advance(1_000)
        assert not is_ended(header)
        for _ in range(2):
            server.advance(1_000)
        assert hello.is_closed_by_server()
        assert header.is_closed_by_server()
        assert not is_ended(silent)


def test_openssls_memory_is_bounded(tmp_path: Path) -> None:
    """Beyond it the handshake that began first is closed for a new one."""
    properties = tls_properties(Files.write(tmp_path / "files", authority("ours").issue("server")))
    limits = {"rocketns.incomingBytesMax": 4 * 1024 * 1024}
    with LiveServer(tmp_path, 1, **properties, **limits) as server, ExitStack() as stack:
        hello = TlsPeer().shake_hands()
        stopped = [stack.enter_context(server.connect()) for _ in range(100)]
        for client in stopped:
            client.send(hello)
        with TlsClient(server.port) as client, server.connect() as plain:
            looked_up(client)
            looked_up(plain)
        assert tls_bytes(server.reactors) <= 3 * 1024 * 1024


def test_a_newcomer_gets_in_where_idle_connections_of_one_host_have_all_memory(tmp_path: Path) -> None:
    """16 KiB each of 3 MiB. Others of the host stay, and so does the idle connection of another."""
    properties = tls_properties(Files.write(tmp_path / "files", authority("ours").issue("server")))
    limits = {"rocketns.incomingBytesMax": 4 * 1024 * 1024}
    with LiveServer(tmp_path, 1, **properties, **limits) as server, ExitStack() as stack:
        first = stack.enter_context(TlsClient(server.port, source="127.0.0.8"))
        idle = [stack.enter_context(TlsClient(server.port)) for _ in range(190)]
        for source in ("127.0.0.9", "127.0.0.10"):
            with TlsClient(server.port, source=source) as client:
                looked_up(client)
        eventually(lambda: tls_bytes(server.reactors) <= 3 * 1024 * 1024)
        for client in (first, idle[-1]):
            looked_up(client)


class Mallinfo2(ctypes.Structure):
    """What the C library's `mallinfo2` returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    )]  # fmt: skip


def allocated() -> int:
    """Bytes in use of the C library's allocator. The server is a part of this process."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo2
    found = mallinfo2()
    return int(found.uordblks + found.hblkhd)


@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer's allocator does not count")
def test_a_message_that_claims_to_be_large_counts_with_the_room_for_it(server: LiveServer) -> None:
    """OpenSSL makes room for all of a hello as soon as its first bytes are there."""
    claim = b"\x01" + (131_000).to_bytes(3, "big")
    record = b"\x16\x03\x01" + (16_000).to_bytes(2, "big") + (claim + bytes(16_000))[:16_000]
    count = 100
    gc.collect()  # what other tests left must not be freed between the two looks
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(server.connect()).send(record)
        eventually(lambda: tls_bytes(server.reactors) >= count * 240 * 1024)
        counted, before = tls_bytes(server.reactors), allocated()
    eventually(lambda: before - allocated() >= count * 131_000)
    assert before - allocated() <= counted


def test_a_record_that_is_not_whole_counts(server: LiveServer) -> None:
    """As a part of a frame does: who does not go on with it is closed."""
    with ExitStack() as stack:
        peers = [(stack.enter_context(server.connect()), TlsPeer()) for _ in range(50)]
        for client, peer in peers:
            handshake(client, peer)
            client.send(peer.encrypt(look_up(CLIENTS[0])))
            plain_of(client, peer, 4)
        idle = server.reactors.incoming_bytes
        for client, peer in peers:
            client.send(peer.encrypt(bytes(16_000))[:-1])
        eventually(lambda: server.reactors.incoming_bytes >= idle + len(peers) * 16_000)


@pytest.mark.parametrize(("certificates", "is_taken"), [(20, True), (200, False)])
def test_a_clients_certificates_have_a_bound(tmp_path: Path, certificates: int, is_taken: bool) -> None:
    """32 KiB, as with Java: OpenSSL keeps them for as long as the connection lives."""
    properties = tls_properties(Files.write(tmp_path / "files", authority("ours").issue("server")),
                                **{"need.client.auth": "require", "authClient": "false"})  # fmt: skip
    files = Files.write(tmp_path / "client", authority("strange").issue("client"))
    chain = authority("another").certificate_pem() * certificates
    files.certificate.write_bytes(files.certificate.read_bytes() + chain)
    context = any_server(files)
    context.maximum_version = TLS12
    refusal = nullcontext() if is_taken else pytest.raises(REFUSED)
    with LiveServer(tmp_path, 1, **properties) as live, refusal, TlsClient(live.port, context=context) as client:
        assert is_answered(client)


def test_renegotiation_is_refused(server: LiveServer) -> None:
    """A client that begins a handshake in a connection of TLS 1.2 is told so by an alert."""
    from OpenSSL import SSL

    context = SSL.Context(SSL.TLSv1_2_METHOD)
    with socket.create_connection(("127.0.0.1", server.port), 30) as plain:
        client = SSL.Connection(context, plain)
        client.set_connect_state()
        plain.setblocking(True)
        client.do_handshake()
        assert client.renegotiate()
        with pytest.raises(SSL.Error):
            client.do_handshake()


@pytest.mark.parametrize("both", [False, True], ids=["the client's", "both sides'"])
def test_keys_are_updated(server: LiveServer, both: bool) -> None:
    """In TLS 1.3, before each request, and often at once."""
    with server.connect() as client, closing(Updating()) as peer:
        handshake(client, peer)
        for updates in (*[1] * 50, 60, 1):
            asked = b"".join(peer.update(both=both) for _ in range(updates))
            client.send(asked + peer.encrypt(look_up(CLIENTS[0])))
            assert plain_of(client, peer, 4)
        assert tls_bytes(server.reactors) < 1 << 20


def test_files_that_are_replaced_halfway(tmp_path: Path) -> None:
    """The last whole pair is used until the next one is whole. Connections from before go on."""
    ours = authority("ours")
    first, second, folder = ours.issue("first"), ours.issue("second"), tmp_path / "files"
    files = Files.write(folder, first)
    with LiveServer(tmp_path, 1, **tls_properties(files)) as server, TlsClient(server.port) as before:
        tls = server.controller.tls

        def shown() -> bytes:
            with TlsClient(server.port) as client:
                assert is_answered(client)
                return client.served_certificate

        assert shown() == first.der
        steps = [
            (files.certificate, second.certificate_pem()[:300], 0), (files.key, second.key_pem()[:100], 1),
            (files.certificate, second.certificate_pem(), 2),
        ]  # fmt: skip
        for path, content, failures in steps:
            path.write_bytes(content)
            server.call(tls.check_files)
            eventually(lambda failures=failures: server.call(lambda: tls.load_failures) >= failures)
            assert shown() == first.der
            assert is_answered(before)
        files.key.write_bytes(second.key_pem())
        eventually(lambda: shown() == second.der)
        assert is_answered(before)


def test_a_client_certificate(tmp_path: Path) -> None:
    """By which names a policy may know it: only if the operator's authorities signed it."""
    ours = authority("ours")
    properties = verifying(tmp_path / "files", ours)
    client_files = Files.write(tmp_path / "client", ours.issue("client"))
    with LiveServer(tmp_path, 1, **properties) as server:
        transport = server.transport
        for identity, names in ((client_files, ("CN=client",)), (None, ())):
            with TlsClient(server.port, context=any_server(identity)) as client:
                looked_up(client)
                [connection] = server.call(lambda: list(transport.connections))
                assert (connection.is_tls, connection.peer_names) == (True, names)
            eventually(lambda: server.call(lambda: not list(transport.connections)))


POLICY = """
[principals.counted]
certificates = ["CN=client"]
requests_per_second = 1000
may = ["lookup"]

[principals.clients]
certificates = ["CN=client"]
may = ["{may}"]

[principals.fleet]
networks = ["127.0.0.2"]
may = ["broker"]

[modes]
lookup = "enforce"
"""


@pytest.mark.parametrize(("may", "is_counted"), [("lookup", False), ("broker", False), ("read", True)])
def test_lookups_that_a_certificate_allows_are_the_reactors(tmp_path: Path, may: str, is_counted: bool) -> None:
    """Control answers the first one, because it reads the names; it answers all where each principal that allows them
    has a rate. Without the certificate all are refused."""
    ours = authority("ours")
    policy = tmp_path / "access.toml"
    policy.write_text(whole(POLICY.format(may=may)))
    properties = verifying(tmp_path / "files", ours)
    client_files = Files.write(tmp_path / "client", ours.issue("client"))
    with LiveServer(tmp_path, 1, **properties, **{"rocketns.accessFile": policy}) as server:
        eventually(lambda: server.call(lambda: server.reactors.access_generation) > 0)
        with TlsClient(server.port, context=any_server(client_files)) as client:
            for answered in range(3):
                assert b'"code":17' in looked_up(client)
                assert server.answered_by_reactors() == (0 if is_counted else answered)
        with TlsClient(server.port) as client:
            for _ in range(2):
                assert b'"code":16' in looked_up(client)
        assert server.answered_by_reactors() == (0 if is_counted else 2)
