"""Java's names of protocols and cipher suites as OpenSSL's, and names that are refused."""

from __future__ import annotations

import ssl

import pytest
from OpenSSL.SSL import Context

from rocketns.client.tls import client_context
from rocketns.config.texts.suites import chosen_suites, openssl_name
from rocketns.errors import TlsError
from rocketns.server.tls.connection import TlsStream
from rocketns.server.tls.server import build_server_context
from tests.server.tls_configs import config, shake_hands
from tests.support.tlsclient import TlsPeer, only

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
GCM128, GCM256, CBC128 = "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA256"
JAVA_GCM128, JAVA_GCM256 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
JAVA_CBC128 = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"
MODERN128, MODERN256 = "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"
SIGNAL = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"


def agreed(context: Context, version: ssl.TLSVersion) -> str | None:
    """The cipher suite that a peer of one version gets, None where it is refused."""
    stream, peer = TlsStream(context), TlsPeer(only(version))
    try:
        shake_hands(stream, peer)
    except ssl.SSLError:
        return None
    return peer.cipher() if stream.ended is None else None


@pytest.mark.parametrize(
    ("protocols", "ciphers", "tls12", "tls13"),
    [
        ("TLSv1.2", "", GCM256, None),
        ("TLSv1.3", "", None, MODERN256),
        ("TLSv1.3,TLSv1.2,SSLv3", "", GCM256, MODERN256),
        ("TLSv1.1,TLSv1.3", "", None, MODERN256),
        ("", f"{MODERN128},{JAVA_GCM128}", GCM128, MODERN128),
        ("", f"{JAVA_CBC128},{JAVA_GCM256}", CBC128, None),
        ("", f"{JAVA_GCM256},{JAVA_CBC128}", GCM256, None),
        ("", MODERN128, None, MODERN128),
        ("", f"{SIGNAL},{MODERN128}", None, MODERN128),
        ("TLSv1.2,TLSv1.3", JAVA_GCM128, GCM128, None),
    ],
)
def test_tls_versions_and_suites_are_agreed_in_the_order_of_the_server(
    protocols: str, ciphers: str, tls12: str | None, tls13: str | None
) -> None:
    """B064: only the named suites, in the server's order."""
    context = build_server_context(config(tls_protocols=protocols, tls_ciphers=ciphers))
    assert (agreed(context, TLS12), agreed(context, TLS13)) == (tls12, tls13)


@pytest.mark.parametrize(
    ("protocols", "ciphers", "reason"),
    [
        ("TLSv9", "", "tls.protocols names unknown protocols: TLSv9"),
        ("TLSv1.3,tlsv1.2", "", "tls.protocols names unknown protocols: tlsv1.2"),
        ("SSLv3", "", "no cipher suite"),
        ("TLSv1.2", MODERN128, "no cipher suite"),
        ("TLSv1.3", JAVA_GCM128, "no cipher suite"),
        ("", SIGNAL, "no cipher suite"),
        ("", "TLS_NONSENSE", "tls.ciphers"),
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
        build_server_context(given)
    with pytest.raises((TlsError, ssl.SSLError)):
        client_context(given)


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        (JAVA_GCM128, GCM128),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA", "DHE-RSA-AES256-SHA"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
    ],
)
def test_names(java: str, openssl: str) -> None:
    """B064: OpenSSL knows each under the name that is made."""
    assert openssl_name(java) == openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(openssl)
    assert openssl in [cipher["name"] for cipher in context.get_ciphers()]


def test_protocols_in_between_are_left_out() -> None:
    """B064: OpenSSL is given a first and a last one, and what to leave out."""
    suites = chosen_suites(["TLSv1.3", "TLSv1"], [])
    assert suites.protocols == ("TLSv1", "TLSv1.3")
    assert suites.excluded() == ["TLSv1.1", "TLSv1.2"]


@pytest.mark.parametrize(
    ("protocols", "ciphers", "versions"),
    [
        ("", "", (TLS12, TLS13)),
        ("TLSv1.2", "", (TLS12, TLS12)),
        ("", JAVA_GCM128, (TLS12, TLS12)),
        ("", MODERN128, (TLS13, TLS13)),
    ],
)
def test_the_outgoing_side(protocols: str, ciphers: str, versions: tuple[ssl.TLSVersion, ssl.TLSVersion]) -> None:
    """B192: the same properties limit outgoing connections."""
    context = client_context(config(tls_protocols=protocols, tls_ciphers=ciphers))
    assert (context.minimum_version, context.maximum_version) == versions
    if ciphers == JAVA_GCM128:
        assert GCM128 in [c["name"] for c in context.get_ciphers()]
        assert GCM256 not in [c["name"] for c in context.get_ciphers()]
