"""Certificates for the TLS scenarios by name, made once a run: servers, an authority, its client and strangers."""

from __future__ import annotations

import datetime
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import any_server

DAY = datetime.timedelta(days=1)


@cache
def identity(name: str) -> Identity:
    """The certificate of a name. The authority signs the client's; all others are self-signed."""
    return identity("authority").issue(name) if name == "client" else authority(name)


def pem(what: str) -> bytes:
    """``name.crt`` is a certificate, ``name.key`` its key. What follows a "#" is added, where it means nothing."""
    what, _, note = what.partition("#")
    name, _, kind = what.partition(".")
    found = identity(name)
    return (found.certificate_pem() if kind == "crt" else found.key_pem()) + note.encode()


def client_context(name: str, folder: Path) -> ssl.SSLContext:
    """A peer that trusts everybody, and has the named certificate if one is named. The folder keeps its files."""
    return any_server(Files.write(folder / name, identity(name)) if name else None)


def describe(certificate: bytes | None) -> str:
    """What two servers can have in common: names, kind of key and signature, and for how long it is valid."""
    if certificate is None:
        return "none"
    found = x509.load_der_x509_certificate(certificate)
    key = found.public_key()
    kind = f"RSA {key.key_size}" if isinstance(key, rsa.RSAPublicKey) else type(key).__name__
    hashed = found.signature_hash_algorithm.name if found.signature_hash_algorithm else "none"
    age = (datetime.datetime.now(datetime.UTC) - found.not_valid_before_utc) // DAY
    end = found.not_valid_after_utc.date()
    subject, issuer = found.subject.rfc4514_string(), found.issuer.rfc4514_string()
    return f"{subject} by {issuer}, {kind}, {hashed}, from {age} days ago until {end}"
