"""The names of a client's certificate, whatever its authority signed."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtensionOID

from rocketns.server.tls.connection import names_of
from tests.support.certificates import authority, builder_of

OURS = authority("ours")


def certified(names: x509.ExtensionType) -> x509.Certificate:
    """A certificate of CN=client with these alternative names."""
    builder = builder_of("client", OURS.certificate.subject, OURS.key, ca=False)
    return builder.add_extension(names, critical=False).sign(OURS.key, hashes.SHA256())


def encoded(der: bytes) -> x509.Certificate:
    return certified(x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, der))


@pytest.mark.parametrize(
    "der", [b"\xff\xff", b"\x30\x04\xa3\x02\x30\x00", b"\x30\x04\xa5\x02\x30\x00", b"\x30\x05\x87\x03abc"]
)
def test_a_certificate_with_unreadable_names_has_none(der: bytes) -> None:
    """Among them kinds of names that the library does not know."""
    assert names_of(encoded(der)) == ()


@pytest.mark.parametrize("text", ["CN=operator", " cn = operator,O=x", "2.5.4.3=operator"])
@pytest.mark.parametrize("kind", [x509.DNSName, x509.UniformResourceIdentifier, x509.RFC822Name])
def test_an_alternative_name_is_never_taken_for_a_subject(text: str, kind: type[x509.DNSName]) -> None:
    names = x509.SubjectAlternativeName([kind(text), x509.DNSName("client.example.com")])
    assert names_of(certified(names)) == ("CN=client", "client.example.com")
