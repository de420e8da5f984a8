"""One TLS connection without a socket, against the standard library's ssl."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from OpenSSL.SSL import Context

from rocketns.errors import TlsError
from rocketns.server.tls.connection import TlsStream
from rocketns.server.tls.server import build_server_context
from tests.protocol.strategies import mutated
from tests.server.tls_configs import files_config, shake_hands
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsPeer, any_server, only

BOTH_VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture(scope="module")
def files(ours: Identity, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files.write(tmp_path_factory.mktemp("tls"), ours.issue("server"))


@pytest.fixture(scope="module")
def context(files: Files) -> Context:
    return build_server_context(files_config(files))


def connected(context: Context, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> tuple[TlsStream, TlsPeer]:
    stream, peer = TlsStream(context), TlsPeer(only(version))
    shake_hands(stream, peer)
    assert peer.handshaken
    return stream, peer


@pytest.mark.parametrize("version", BOTH_VERSIONS)
@pytest.mark.parametrize("size", [1, 16 * 1024, 300_000])
def test_both_directions(context: Context, version: ssl.TLSVersion, size: int) -> None:
    """B064: any number of records."""
    stream, peer = connected(context, version)
    peer.decrypt(stream.outgoing())
    assert stream.receive(peer.encrypt(b"x" * size)) == b"x" * size
    assert peer.decrypt(stream.send(b"y" * size)) == b"y" * size
    assert stream.ended is None


@pytest.mark.parametrize("version", BOTH_VERSIONS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 100])
def test_pieces_of_every_size(context: Context, version: ssl.TLSVersion, size: int) -> None:
    """B058, B064: handshake and records in fragments."""
    stream, peer = TlsStream(context), TlsPeer(only(version))

    def feed(data: bytes) -> bytes:
        return b"".join(stream.receive(data[at : at + size]) for at in range(0, len(data), size))

    assert feed(peer.shake_hands()) == b""
    while not peer.handshaken:
        assert feed(peer.shake_hands(stream.outgoing())) == b""
    assert feed(peer.encrypt(b"one") + peer.encrypt(b"two")) == b"onetwo"


def test_records_together_with_the_end(context: Context) -> None:
    """B067: what came before close_notify is given out; it is answered with the same."""
    stream, peer = connected(context)
    assert stream.receive(peer.encrypt(b"last words") + peer.end()) == b"last words"
    assert stream.ended == "the peer ended TLS"
    peer.decrypt(stream.end())
    assert peer.ended


def test_the_server_ends(context: Context) -> None:
    """B067: with close_notify, so that the peer knows it has everything."""
    stream, peer = connected(context)
    assert peer.decrypt(stream.send(b"everything") + stream.end()) == b"everything"
    assert peer.ended


def test_an_end_before_the_handshake(context: Context) -> None:
    """B064: nothing is sent."""
    assert TlsStream(context).end() == b""


@pytest.mark.parametrize("garbage", [b"garbage" * 10, b"\x16\x03\x01\x00\x05hello", b"\x17\x03\x03\xff\xff" + bytes(9)])
def test_garbage(context: Context, garbage: bytes) -> None:
    """B064: before and after the handshake. An alert gives the reason, and nothing can be sent afterwards."""
    for stream in (TlsStream(context), connected(context)[0]):
        stream.outgoing()
        assert stream.receive(garbage) == b""
        assert (stream.ended or "").startswith("TLS failed: ")
        assert stream.receive(garbage) == b""
        stream.end()
        with pytest.raises(TlsError):
            stream.send(b"more")


def test_good_records_before_garbage(context: Context) -> None:
    """B067: the good records are passed on."""
    stream, peer = connected(context)
    assert stream.receive(peer.encrypt(b"good") + b"garbage") == b"good"
    assert stream.ended is not None


def test_a_refused_peer_hears_why(ours: Identity, files: Files, tmp_path: Path) -> None:
    """B075: an alert gives the reason if its certificate is missing or not trusted."""
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    more = {"need.client.auth": "require", "authClient": "true", "trustCertPath": str(trust)}
    context = build_server_context(files_config(files, **more))
    untrusted = Files.write(tmp_path, authority("others").issue("client"))
    for client, alert in ((any_server(), "certificate required"), (any_server(untrusted), "unknown ca")):
        stream, peer = TlsStream(context), TlsPeer(client)
        shake_hands(stream, peer)
        assert stream.ended is not None
        with pytest.raises(ssl.SSLError, match=alert):
            peer.decrypt(stream.outgoing())


def test_no_common_protocol(files: Files) -> None:
    """B064: a handshake that fails ends with an alert."""
    stream = TlsStream(build_server_context(files_config(files, {"tls.protocols": "TLSv1.3"})))
    peer = TlsPeer(only(ssl.TLSVersion.TLSv1_2))
    stream.receive(peer.shake_hands())
    assert stream.ended == "TLS failed: unsupported protocol"
    with pytest.raises(ssl.SSLError, match="protocol version"):
        peer.shake_hands(stream.outgoing())


@given(st.data())
def test_any_bytes(context: Context, data: st.DataObject) -> None:
    """B064: a handshake and records that are cut, changed or invented raise nothing, and no other text comes out."""
    stream, peer = TlsStream(context), TlsPeer()
    stream.receive(data.draw(mutated(st.just(peer.shake_hands()))))
    if stream.ended is None and not peer.handshaken:
        try:
            answer = peer.shake_hands(stream.outgoing())
        except ssl.SSLError:
            return
        stream.receive(data.draw(mutated(st.just(answer))))
    if stream.ended is None and peer.handshaken:
        sent = b"plain text" * 3
        plain = stream.receive(data.draw(mutated(st.just(peer.encrypt(sent)))))
        assert plain in (b"", sent)
    stream.receive(data.draw(st.binary(max_size=40)))
    stream.end()
