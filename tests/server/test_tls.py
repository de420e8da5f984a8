"""TLS without sockets: suites and versions, one connection, what files may contain, and names of certificates."""

from __future__ import annotations

import re
import ssl
from contextlib import closing
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtensionOID
from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.tls.openssl import ServerContext
from rocketns.client.tls import client_context
from rocketns.errors import TlsContentError, TlsError
from rocketns.server.tls.connection import names_of
from tests.compiled.streams import Stream
from tests.protocol.strategies import mutated
from tests.server.tls_configs import config, context_of, files_config, shake_hands
from tests.support.certificates import Files, Identity, authority, builder_of
from tests.support.tlsclient import TlsPeer, Updating, only

BOTH_VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture(scope="module")
def lasting(ours: Identity, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files.write(tmp_path_factory.mktemp("tls"), ours.issue("server"))


@pytest.fixture(scope="module")
def context(lasting: Files) -> ServerContext:
    return context_of(files_config(lasting))


def connected(context: ServerContext, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> tuple[Stream, TlsPeer]:
    stream, peer = Stream(context), TlsPeer(only(version))
    shake_hands(stream, peer)
    assert peer.handshaken
    return stream, peer


@pytest.mark.parametrize("version", BOTH_VERSIONS)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_pieces_of_every_size(context: ServerContext, version: ssl.TLSVersion, size: int) -> None:
    """B058, B064: handshake and records in fragments."""
    stream, peer = Stream(context), TlsPeer(only(version))

    def feed(data: bytes) -> bytes:
        return b"".join(stream.receive(data[at : at + size]) for at in range(0, len(data), size))

    assert feed(peer.shake_hands()) == b""
    while not peer.handshaken:
        assert feed(peer.shake_hands(stream.outgoing())) == b""
    assert feed(peer.encrypt(b"one") + peer.encrypt(b"two")) == b"onetwo"


def test_records_together_with_the_end(context: ServerContext) -> None:
    """B067: what came before close_notify is given out; it is answered with the same."""
    stream, peer = connected(context)
    assert stream.receive(peer.encrypt(b"last words") + peer.end()) == b"last words"
    assert stream.ended == "the peer ended TLS"
    peer.decrypt(stream.end())
    assert peer.ended


@pytest.mark.parametrize("garbage", [b"garbage" * 10, b"\x16\x03\x01\x00\x05hello", b"\x17\x03\x03\xff\xff" + bytes(9)])
def test_garbage(context: ServerContext, garbage: bytes) -> None:
    """B064: before and after the handshake. An alert gives the reason, and nothing can be sent afterwards."""
    for stream in (Stream(context), connected(context)[0]):
        stream.outgoing()
        assert stream.receive(garbage) == b""
        assert (stream.ended or "").startswith("TLS failed: ")
        assert stream.receive(garbage) == b""
        stream.end()
        with pytest.raises(ConnectionError):
            stream.send(b"more")


@given(st.data())
def test_any_bytes(context: ServerContext, data: st.DataObject) -> None:
    """B064: a handshake and records that are cut, changed or invented raise nothing, and no other text comes out."""
    stream, peer = Stream(context), TlsPeer()
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


NONSENSE = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"


@pytest.fixture
def files(ours: Identity, tmp_path: Path) -> Files:
    return Files.write(tmp_path, ours.issue("server"))


def takes(context: ServerContext, peer: TlsPeer) -> bool:
    stream = Stream(context)
    shake_hands(stream, peer)
    return stream.ended is None


@pytest.mark.parametrize("rsa_bits", [0, 2048], ids=["elliptic", "rsa"])
@pytest.mark.parametrize("password", ["", "secret \u00e9"])
def test_kinds_of_keys(ours: Identity, tmp_path: Path, rsa_bits: int, password: str) -> None:
    """B069: PKCS#8, in clear or encrypted."""
    files = Files.write(tmp_path, ours.issue("server", rsa_bits=rsa_bits), password=password)
    assert takes(context_of(files_config(files, keyPassword=password)), TlsPeer())


@pytest.mark.parametrize("missing", ["certificate.pem", "key.pem"])
def test_a_missing_file(files: Files, missing: str) -> None:
    """B074: the server still starts; the error names the file."""
    (files.folder / missing).unlink()
    with pytest.raises(TlsError, match=missing) as failed:
        context_of(files_config(files))
    assert not isinstance(failed.value, TlsContentError)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("certificate.pem", NONSENSE.format("CERTIFICATE")),
        ("key.pem", NONSENSE.format("PRIVATE KEY")),
        ("trust.pem", ""),
    ],
)
def test_files_that_hold_nonsense(files: Files, name: str, content: str) -> None:
    """B074: the server does not start, and the error names the file."""
    (files.folder / name).write_text(content)
    given = files_config(files, authClient="true", trustCertPath=str(files.folder / "trust.pem"))
    with pytest.raises(TlsContentError, match=name):
        context_of(given)


@pytest.mark.parametrize(("encrypted_with", "given"), [("right", "wrong"), ("right", ""), ("", "needless")])
def test_a_wrong_password(ours: Identity, tmp_path: Path, encrypted_with: str, given: str) -> None:
    """B074: or a missing one, or one for a key without password. No terminal is asked for it."""
    files = Files.write(tmp_path, ours.issue("server"), password=encrypted_with)
    with pytest.raises(TlsContentError, match=r"key\.pem"):
        context_of(files_config(files, keyPassword=given))


@pytest.mark.parametrize(("ticket", "resumed"), [(True, True), (False, False)], ids=["its ticket", "nothing"])
def test_a_session_is_kept_by_the_peer_or_by_nobody(files: Files, *, ticket: bool, resumed: bool) -> None:
    """20,480 sessions with a client's chain of 100 KB each were 3.6 GB."""
    context, client = context_of(files_config(files)), only(ssl.TLSVersion.TLSv1_2)
    if not ticket:
        client.options |= ssl.OP_NO_TICKET
    first = TlsPeer(client)
    stream = Stream(context)
    shake_hands(stream, first)
    first.decrypt(stream.outgoing())
    stream.receive(first.end())
    stream.end()
    again = TlsPeer(client, session=first.session)
    assert takes(context, again)
    assert again.was_resumed is resumed


TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
GCM128, GCM256, CBC128 = "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA256"
JAVA_GCM128, JAVA_GCM256 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
JAVA_CBC128 = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"
MODERN128, MODERN256 = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"
SIGNAL = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"


def agreed(context: ServerContext, version: ssl.TLSVersion) -> str | None:
    """The cipher suite that a peer of one version gets, None where it is refused."""
    stream, peer = Stream(context), TlsPeer(only(version))
    try:
        shake_hands(stream, peer)
    except ssl.SSLError:
        return None
    return peer.cipher() if stream.ended is None else None


@pytest.mark.parametrize(
    ("protocols", "ciphers", "tls12", "tls13"),
    [
        ("TLSv1.3,TLSv1.2,SSLv3", "", GCM256, MODERN256),
        ("TLSv1.1,TLSv1.3", "", None, MODERN256),
        ("", f"{MODERN128},{JAVA_GCM128}", GCM128, MODERN128),
        ("", f"{JAVA_CBC128},{JAVA_GCM256}", CBC128, None),
        ("", f"{SIGNAL},{MODERN128}", None, MODERN128),
        ("TLSv1.2,TLSv1.3", JAVA_GCM128, GCM128, None),
    ],
)
def test_tls_versions_and_suites_are_agreed_in_the_order_of_the_server(
    protocols: str, ciphers: str, tls12: str | None, tls13: str | None
) -> None:
    """B064: only the named suites, in the server's order."""
    context = context_of(config(tls_protocols=protocols, tls_ciphers=ciphers))
    assert (agreed(context, TLS12), agreed(context, TLS13)) == (tls12, tls13)


@pytest.mark.parametrize(
    ("protocols", "ciphers", "reason"),
    [
        ("TLSv9", "", "tls.protocols names unknown protocols: TLSv9"),
        ("SSLv3", "", "no cipher suite"),
        ("TLSv1.2", MODERN128, "no cipher suite"),
        ("", f"{MODERN128},TLS_NONSENSE", "tls.ciphers names unknown cipher suites: TLS_NONSENSE"),
        ("", "TLS_NONSENSE_WITH_NOTHING", "tls.ciphers is not usable: no cipher match"),
        ("", f"{JAVA_GCM128},TLS_NONSENSE_WITH_NOTHING", "unknown cipher suites: NONSENSE-NOTHING"),
        ("", f"{JAVA_GCM128},ALL_WITH_,@_WITH_SECLEVEL=0", "tls.ciphers is not usable"),
    ],
)
def test_settings_that_leave_no_tls_version_are_refused(protocols: str, ciphers: str, reason: str) -> None:
    """B064: one unknown name is enough, as in Java. The contexts of both sides name it."""
    given = config(tls_protocols=protocols, tls_ciphers=ciphers)
    with pytest.raises(TlsError, match=reason):
        context_of(given)
    with pytest.raises((TlsError, ssl.SSLError)):
        client_context(given)


OURS = authority("ours")


def certified(names: x509.ExtensionType) -> x509.Certificate:
    """A certificate of CN=client with these alternative names."""
    builder = builder_of("client", OURS.certificate.subject, OURS.key, ca=False)
    return builder.add_extension(names, critical=False).sign(OURS.key, hashes.SHA256())


def encoded(der: bytes) -> x509.Certificate:
    return certified(x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, der))


@pytest.mark.parametrize("der", [b"\xff\xff", b"\x30\x05\x87\x03abc"])
def test_a_certificate_with_unreadable_names_has_none(der: bytes) -> None:
    """Among them kinds of names that the library does not know."""
    assert names_of(encoded(der)) == ()


TEXTS = {
    "CN=operator": None, " cn = operator,O=x": None, "2.5.4.3=operator": None, "ops.acme.com": x509.DNSName,
    "ops@acme.com": x509.RFC822Name, "spiffe://acme.com/ops": x509.UniformResourceIdentifier, "fe80:1": None,
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [x509.DNSName, x509.UniformResourceIdentifier, x509.RFC822Name])
def test_an_alternative_name_is_never_taken_for_one_of_another_kind(text: str, kind: type[x509.DNSName]) -> None:
    names = x509.SubjectAlternativeName([kind(text), x509.RegisteredID(x509.ObjectIdentifier("1.2.3"))])
    assert names_of(certified(names)) == (("CN=client", text) if TEXTS[text] is kind else ("CN=client",))


def test_an_address_is_a_name() -> None:
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("2001:db8::1"))])
    assert names_of(certified(names)) == ("CN=client", "2001:db8::1")


def test_openssls_functions_are_looked_for_in_the_order_of_their_fields() -> None:
    openssl = import_module("rocketns._fast.tls.openssl")
    declared = Path(openssl.__file__ or "").with_name("openssl.pxd").read_text("utf-8")
    fields = declared[declared.index("cdef struct OpenSSL") : declared.index("cdef OpenSSL openssl")]
    assert re.findall(r"^    .*?\(\*(\w+)\)\(", fields, re.MULTILINE) == openssl.FUNCTIONS


UPDATES_AT_ONCE = 60


@pytest.mark.parametrize("data", [b"", b"x"], ids=["alone", "with data"])
def test_records_without_data_that_come_at_once_have_a_bound(lasting: Files, data: bytes) -> None:
    """5,000 demands for new keys, 130 KB, held others up for 140 ms."""
    stream = Stream(context_of(files_config(lasting)))
    with closing(Updating()) as peer:
        shake_hands(stream, peer)
        for _ in range(3):
            asked = b"".join(peer.update(both=True) for _ in range(UPDATES_AT_ONCE))
            assert stream.receive(asked + peer.encrypt(b"more")) == b"more"
        stream.outgoing()
        stream.receive(b"".join(peer.update(both=True) + (data and peer.encrypt(data)) for _ in range(5_000)))
        assert stream.ended == "TLS failed: more than 64 records without data at once"
        assert len(stream.outgoing()) < 5_000


@pytest.mark.parametrize("at_once", [1, 20])
def test_a_hello_has_a_bound(context: ServerContext, at_once: int) -> None:
    """OpenSSL compares each key of a hello with each group: 62 KB took 65 ms, in which nobody else could begin."""
    stream, record = Stream(context), b"\x16\x03\x01" + (1_000).to_bytes(2, "big")
    begin = record + b"\x01" + (60_000).to_bytes(3, "big") + bytes(996)
    assert stream.receive(begin + (record + bytes(1_000)) * 14) == b""
    assert stream.ended is None
    for _ in range(0, 20, at_once):
        stream.receive((record + bytes(1_000)) * at_once)
    assert stream.ended == "TLS failed: a hello of more than 16 KiB"
    assert stream.outgoing() == b""


def test_small_records_with_data_have_no_bound(context: ServerContext) -> None:
    stream, peer = connected(context)
    assert stream.receive(b"".join(peer.encrypt(b"x") for _ in range(5_000))) == b"x" * 5_000


def test_a_reply_to_a_demand_for_new_keys_is_no_larger(lasting: Files) -> None:
    """So a reactor that has room for as much as it receives has room for all replies."""
    stream = Stream(context_of(files_config(lasting)))
    with closing(Updating()) as peer:
        shake_hands(stream, peer)
        stream.outgoing()
        asked = b"".join(peer.update(both=True) for _ in range(UPDATES_AT_ONCE))
        assert stream.receive(asked) == b""
        assert stream.ended is None
        assert 0 < len(stream.outgoing()) <= len(asked)
