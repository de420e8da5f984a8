"""Certificates made at run time: an authority, the certificates it signs, and PEM files. Independent of rocketns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Identity:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def der(self) -> bytes:
        """The certificate as a TLS peer sends it."""
        return self.certificate.public_bytes(Encoding.DER)

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, password: str = "") -> bytes:
        """The key as PKCS#8, encrypted if there is a password."""
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)

    def issue(self, name: str, *, rsa_bits: int = 0, is_expired: bool = False) -> Identity:
        """A certificate signed by this one."""
        key = _key(rsa_bits)
        builder = builder_of(name, self.certificate.subject, key, ca=False, until=-0.5 if is_expired else 1)
        return Identity(builder.sign(self.key, hashes.SHA256()), key)


def authority(name: str) -> Identity:
    """A self-signed certificate that may sign others."""
    key = _key(0)
    return Identity(builder_of(name, _name(name), key, ca=True).sign(key, hashes.SHA256()), key)


@dataclass(frozen=True)
class Files:
    """A folder with an identity's certificate and key, and other files written into it."""

    folder: Path
    certificate: Path
    key: Path

    @classmethod
    def write(cls, folder: Path, identity: Identity, *, password: str = "") -> Files:
        """Write or replace both files."""
        folder.mkdir(parents=True, exist_ok=True)
        files = cls(folder, folder / "certificate.pem", folder / "key.pem")
        files.certificate.write_bytes(identity.certificate_pem())
        files.key.write_bytes(identity.key_pem(password))
        return files


def _key(rsa_bits: int) -> Key:
    return rsa.generate_private_key(65537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def builder_of(name: str, issuer: x509.Name, key: Key, *, ca: bool, until: float = 1) -> x509.CertificateBuilder:
    """An unsigned certificate, valid from a day ago until so many days from now."""
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer_name=issuer, subject_name=_name(name), public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1), not_valid_after=now + timedelta(days=until),
    )  # fmt: skip
    return builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
