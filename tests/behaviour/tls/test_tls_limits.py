"""tls.protocols and tls.ciphers, and bytes that are not TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.support.tlsclient import REFUSED, TlsClient, TlsPeer, answers, any_server, only

Start = Callable[..., NameServer]

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
CBC128, ANY12 = "ECDHE-RSA-AES128-SHA256", "ECDHE-*"


@dataclass
class Case:
    """System properties, and a pattern of the cipher that clients of both versions get. None: the client is refused."""

    options: list[str]
    tls12: str | None
    tls13: str | None


CASES = {
    "one protocol": Case(["-Dtls.protocols=TLSv1.2"], ANY12, None),
    "a cipher of 1.2": Case(["-Dtls.ciphers=TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"], CBC128, None),
    "the server's order": Case(
        ["-Dtls.ciphers=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,"
         "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_AES_256_GCM_SHA384"], CBC128, "TLS_AES_128_GCM_SHA256",
    ),
    "an unknown cipher beside a good one": Case(["-Dtls.ciphers=TLS_NONSENSE,TLS_AES_128_GCM_SHA256"], None, None),
    "an unknown protocol beside a good one": Case(["-Dtls.protocols=TLSv9,TLSv1.3"], None, None),
}  # fmt: skip


def agreed(server: NameServer, version: ssl.TLSVersion) -> str | None:
    """The cipher that the server and a client of one protocol version agree on; None where there is no TLS."""
    try:
        with TlsClient(server.port, context=only(version)) as client:
            assert answers(client)
            cipher = client.tls.cipher()
            return cipher and cipher[0]
    except REFUSED:
        return None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_protocols_and_ciphers(start_server: Start, case: Case) -> None:
    """B064: Java's names. One unknown name disables TLS; plain connections are still served."""
    server = start_server(options=case.options)
    for version, expected in ((TLS12, case.tls12), (TLS13, case.tls13)):
        cipher = agreed(server, version)
        assert cipher is None if expected is None else fnmatchcase(cipher or "", expected), cipher
    with server.connect() as client:
        assert answers(client)


def ends(client: Client) -> bool:
    """True if the server closes, possibly after sending bytes; TimeoutError if it does not."""
    try:
        while client.socket.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    "garbage",
    [b"\x16" + b"garbage" * 10, b"\x16\x03\x01\x00\x10" + b"\xff" * 40, b"\x16\x03\x01\xff\xff" + bytes(70_000)],
    ids=["no version", "no hello", "too long a record"],
)
def test_garbage_instead_of_a_handshake(client: Client, garbage: bytes) -> None:
    """B064: closes the connection, possibly after an alert."""
    client.send(garbage)
    assert ends(client)


def test_garbage_instead_of_a_record(server: NameServer) -> None:
    """B064: after the handshake too."""
    peer = TlsPeer()
    with server.connect() as client:
        peer.connect(client)
        client.send(b"no record of TLS at all")
        assert ends(client)


def test_a_hello_in_fragments(server: NameServer) -> None:
    """B064: in pieces of one byte."""
    peer = TlsPeer(any_server())
    with server.connect() as client:
        for byte in peer.shake_hands():
            client.send(bytes([byte]))
        while not peer.handshaken:
            client.send(peer.shake_hands(client.socket.recv(1 << 16)))
