"""Certificates for the TLS scenarios, made once a run: servers, an authority, its client and strangers."""

from __future__ import annotations

import datetime
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

# Who has not signed himself.
SIGNED_BY = {"client": "authority"}
DAY = datetime.timedelta(days=1)


def _key(name: str) -> rsa.RSAPrivateKey:
    return _key_of(name.partition("-")[0])


@cache
def _key_of(_owner: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@cache
def _certificate(name: str) -> x509.Certificate:
    issuer = SIGNED_BY.get(name, name)
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(_key(name).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + 30 * DAY)
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
    )
    return builder.sign(_key(issuer), hashes.SHA256())


def pem(what: str) -> bytes:
    """``name.crt`` is a certificate, ``name.key`` its key in PKCS#8; names that begin alike up to "-" have one key.

    What follows a "#" is added to the text, where it means nothing.
    """
    name, _, kind = what.partition("#")[0].partition(".")
    note = what.partition("#")[2].encode()
    if kind == "crt":
        return _certificate(name).public_bytes(serialization.Encoding.PEM) + note
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return _key(name).private_bytes(serialization.Encoding.PEM, form, plain) + note


def client_context(name: str, folder: Path) -> ssl.SSLContext:
    """A peer that trusts everybody, and has the named certificate if one is named. The folder keeps its files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if name:
        paths = [folder / f"{name}.{kind}" for kind in ("crt", "key")]
        for path in paths:
            path.write_bytes(pem(path.name))
        context.load_cert_chain(*map(str, paths))
    return context


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
