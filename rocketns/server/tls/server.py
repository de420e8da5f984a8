"""The server's TLS context, made from a TlsConfig (TlsHelper).

pyOpenSSL rather than the standard library's ssl: Java's `tls.server.authClient=false` asks for a client certificate and
trusts any, for which a verification callback is needed. It is imported when TLS is first used.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns._fast.system.hardening.trusting import trusting_callback
from rocketns.config.tls import ClientAuth, Suites, TlsConfig, TlsSide, chosen_suites
from rocketns.errors import TlsContentError, TlsError
from rocketns.server.tls.connection import reason_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import Certificate
    from OpenSSL.SSL import Context

RSA_BITS = 2048


def build_server_context(config: TlsConfig) -> Context:
    """TlsHelper.buildSslContext(false). TlsError if certificate, key, ciphers or protocols are not usable."""
    from OpenSSL import SSL

    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_session_id(b"rocketns")
    # Peers keep their sessions themselves, as tickets: one in this process may hold a chain of 100 KB.
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)  # most connections are idle most of the time
    try:
        if config.test_mode:
            _use_self_signed(context)
            _verify_client(context, ClientAuth.OPTIONAL, None)
        else:
            _use_files(context, config.server)
            _verify_client(context, config.client_auth, config.server)
        _restrict(context, chosen_suites(config.protocols, config.ciphers))
    except SSL.Error as error:
        raise TlsError(reason_of(error)) from error
    return context


def _use_files(context: Context, side: TlsSide) -> None:
    if not side.cert_path or not side.key_path:
        raise TlsContentError("tls.server.certPath and tls.server.keyPath are needed when tls.test.mode.enable=false")
    chain_pem, key_pem = _read(side.cert_path), _read(side.key_path)
    _use_certificates(context, side.cert_path, _certificates(side.cert_path, chain_pem))
    _use_key(context, side, _key(side, key_pem))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error


def certificate_ends_s(context: Context) -> float | None:
    """When the context's certificate ends, in seconds of the wall clock; None if it has none."""
    from OpenSSL import SSL

    certificate = SSL.Connection(context, None).get_certificate()
    return None if certificate is None else certificate.to_cryptography().not_valid_after_utc.timestamp()


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


def _use_certificates(context: Context, path: str, chain: list[Certificate]) -> None:
    from OpenSSL import SSL

    try:
        context.use_certificate(chain[0])
        for one in chain[1:]:
            context.add_extra_chain_cert(one)
    except SSL.Error as error:  # a short key, an old signature
        raise TlsError(f"{path} cannot be used: {reason_of(error)}") from error


def _use_key(context: Context, side: TlsSide, key: PrivateKeyTypes) -> None:
    from OpenSSL import SSL

    try:
        context.use_privatekey(key)  # type: ignore[arg-type]
        context.check_privatekey()
    except (SSL.Error, TypeError) as error:  # TypeError: a kind of key that TLS does not support
        raise TlsError(f"{side.key_path} does not match {side.cert_path}: {reason_of(error)}") from error


def _verify_client(context: Context, wanted: ClientAuth, side: TlsSide | None) -> None:
    from OpenSSL import SSL

    flags = {
        ClientAuth.NONE: SSL.VERIFY_NONE,
        ClientAuth.OPTIONAL: SSL.VERIFY_PEER,
        ClientAuth.REQUIRE: SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
    }[wanted]
    if side is not None and not side.verify_peer:
        _trust_any(context, flags)
        return
    if side is not None and side.trust_cert_path:
        _trust(context, side.trust_cert_path)
    else:
        context.set_default_verify_paths()
    context.set_verify(flags)


def _trust_any(context: Context, flags: int) -> None:
    """``context.set_verify(flags, lambda *_: True)`` without code that is made at run time, for which pyOpenSSL has no
    public function."""
    from OpenSSL._util import ffi, lib

    callback = ffi.cast("int (*)(int, X509_STORE_CTX *)", trusting_callback())
    lib.SSL_CTX_set_verify(context._context, flags, callback)


def _trust(context: Context, path: str) -> None:
    from OpenSSL import SSL

    try:
        context.load_verify_locations(path)
    except SSL.Error as error:  # also if the file is missing: Java does not distinguish
        raise TlsContentError(f"{path} holds no usable certificates to trust") from error


def _restrict(context: Context, suites: Suites) -> None:
    from OpenSSL import SSL

    versions = {"TLSv1": SSL.TLS1_VERSION, "TLSv1.1": SSL.TLS1_1_VERSION, "TLSv1.2": SSL.TLS1_2_VERSION,
                "TLSv1.3": SSL.TLS1_3_VERSION}  # fmt: skip
    without = {"TLSv1.1": SSL.OP_NO_TLSv1_1, "TLSv1.2": SSL.OP_NO_TLSv1_2}
    context.set_min_proto_version(versions[suites.protocols[0]])
    context.set_max_proto_version(versions[suites.protocols[-1]])
    for name in suites.excluded():
        context.set_options(without[name])
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    try:
        if suites.older:
            context.set_cipher_list(":".join(suites.older).encode())
        if suites.modern:
            context.set_tls13_ciphersuites(":".join(suites.modern).encode())
    except SSL.Error as error:
        raise TlsError(f"tls.ciphers is not usable: {reason_of(error)}") from error
    suites.check_known(SSL.Connection(context, None).get_cipher_list())


def _use_self_signed(context: Context) -> None:
    """Netty's SelfSignedCertificate: CN=localhost, RSA 2048, SHA256withRSA, from a year ago to the end of 9999."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    context.use_privatekey(key)
    context.use_certificate(_self_signed(key))


def _self_signed(key: RSAPrivateKey) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=datetime.now(UTC) - timedelta(days=365),
        not_valid_after=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    )
    return builder.sign(key, hashes.SHA256())
