"""The server's TLS contexts, made from a TlsConfig (TlsHelper): that of the reactors, and that of HTTP ports."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.client.tls import restrict
from rocketns.config.tls import ClientAuth, TlsConfig, TlsSide, chosen_suites
from rocketns.errors import TlsContentError, TlsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import Certificate

    from rocketns._fast.tls.openssl import ServerContext

RSA_BITS = 2048
VERSIONS = {"TLSv1": 0x0301, "TLSv1.1": 0x0302, "TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
WITHOUT = {"TLSv1.1": 1 << 28, "TLSv1.2": 1 << 27}  # SSL_OP_NO_TLSv1_1 and SSL_OP_NO_TLSv1_2
CERTIFICATE, KEY, TRUST, CIPHERS = "certificate", "key", "trust", "ciphers"


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its chain, and its key."""

    chain: list[Certificate]
    key: PrivateKeyTypes

    def pem(self) -> bytes:
        """The key and the certificates, as a file has them."""
        from cryptography.hazmat.primitives import serialization as forms

        key = self.key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
        return key + b"".join(one.public_bytes(forms.Encoding.PEM) for one in self.chain)

    @property
    def ends_s(self) -> float:
        """When the certificate ends, in seconds of the wall clock."""
        return self.chain[0].not_valid_after_utc.timestamp()


def read_pair(config: TlsConfig) -> Pair:
    """The pair of the files, or a new one in test mode. TlsError if a file is missing, TlsContentError if it is
    nonsense."""
    return _self_signed() if config.test_mode else _pair_of_files(config.server)


def build_server_context(config: TlsConfig, pair: Pair) -> ServerContext:
    """TlsHelper.buildSslContext(false). TlsError if pair, ciphers or protocols are not usable.

    Java's ``tls.server.authClient=false`` asks for a client certificate and trusts any.
    """
    from cryptography.hazmat.primitives import serialization as forms

    try:
        from rocketns._fast.tls.openssl import ServerContext

        suites = chosen_suites(config.protocols, config.ciphers)
        asked = ClientAuth.OPTIONAL if config.test_mode else config.client_auth
        trusts_any = not config.test_mode and not config.server.verify_peer
        trusted = config.server.trust_cert_path if not config.test_mode and config.server.trust_cert_path else None
        made = ServerContext(
            certificates=[one.public_bytes(forms.Encoding.DER) for one in pair.chain],
            key=pair.key.private_bytes(forms.Encoding.DER, forms.PrivateFormat.PKCS8, forms.NoEncryption()),
            versions=(VERSIONS[suites.protocols[0]], VERSIONS[suites.protocols[-1]]),
            without=sum(WITHOUT[name] for name in suites.excluded()),
            older=":".join(suites.older),
            modern=":".join(suites.modern),
            asks=asked is not ClientAuth.NONE,
            requires=asked is ClientAuth.REQUIRE,
            trusts_any=trusts_any,
            trusted=trusted,
            # By authorities that the operator chose: the system's would vouch for anybody who has a domain.
            verifies_peers=trusted is not None and not trusts_any,
        )
        suites.check_known(made.suites())
    except ImportError as error:
        raise TlsError(str(error)) from error
    except ValueError as error:
        raise _failure(config.server, str(error)) from error
    else:
        return made


def build_port_context(config: TlsConfig, pair: Pair) -> ssl.SSLContext:
    """For a port of HTTP, from the same files. TlsError if pair, ciphers or protocols are not usable.

    The standard library verifies a client certificate or asks for none. So with ``tls.server.authClient=false``, where
    any certificate would do, none is asked for. Of the suites of TLS 1.3 all are offered, or none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        _load_pair(context, pair)
        if config.server.verify_peer and not config.test_mode and config.client_auth is not ClientAuth.NONE:
            required = config.client_auth is ClientAuth.REQUIRE
            context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
            trusted = config.server.trust_cert_path
            context.load_verify_locations(trusted) if trusted else context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        restrict(context, chosen_suites(config.protocols, config.ciphers))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise TlsError(f"the TLS files cannot be used for a port of HTTP: {error}") from error
    return context


def _load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """The standard library reads files only. This one is in memory, and gone afterwards."""
    descriptor = os.memfd_create("rocketns-tls")
    try:
        os.write(descriptor, pair.pem())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _failure(side: TlsSide, text: str) -> TlsError:
    part, _, reason = text.partition(": ")
    if part == TRUST:  # also if the file is missing: Java does not distinguish
        return TlsContentError(f"{side.trust_cert_path} holds no usable certificates to trust: {reason}")
    if part == CERTIFICATE:  # a short key, an old signature
        return TlsError(f"{side.cert_path} cannot be used: {reason}")
    if part == KEY:
        return TlsError(f"{side.key_path} does not match {side.cert_path}: {reason}")
    return TlsError(f"tls.ciphers is not usable: {reason}" if part == CIPHERS else text)


def _pair_of_files(side: TlsSide) -> Pair:
    if not side.cert_path or not side.key_path:
        raise TlsContentError("tls.server.certPath and tls.server.keyPath are needed when tls.test.mode.enable=false")
    chain_pem, key_pem = _read(side.cert_path), _read(side.key_path)
    return Pair(_certificates(side.cert_path, chain_pem), _key(side, key_pem))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error


def _certificates(path: str, pem: bytes) -> list[Certificate]:
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(pem)
    except Exception as error:  # ValueError, and others for kinds of content that it does not support
        raise TlsContentError(f"{path} holds no usable certificate: {error}") from error


def _key(side: TlsSide, pem: bytes) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(pem, side.key_password.encode() or None)
    except Exception as error:  # also TypeError: a password is missing, or not needed
        raise TlsContentError(f"{side.key_path} holds no usable key: {error}") from error


def _self_signed() -> Pair:
    """Netty's SelfSignedCertificate: CN=localhost, RSA 2048, SHA256withRSA, from a year ago to the end of 9999."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=datetime.now(UTC) - timedelta(days=365),
        not_valid_after=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    )
    return Pair([builder.sign(key, hashes.SHA256())], key)
