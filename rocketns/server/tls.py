"""TLS without a socket: contexts made of a TlsConfig (TlsHelper), and one connection's bytes in and out.

pyOpenSSL rather than the standard library's ssl: Java's `tls.server.authClient=false` asks for a client certificate and
trusts any, for which a verification callback is needed. It is imported when TLS is first used.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.config.tls import ClientAuth, TlsConfig, TlsSide
from rocketns.errors import TlsContentError, TlsError
from rocketns.server.tls_suites import Suites, chosen_suites

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate
    from OpenSSL.SSL import Connection, Context, Error

HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection
RECORD_BYTES = 16 * 1024
RSA_BITS = 2048


class TlsStream:
    """One server-side connection: cipher text in, plain text out, and the other way round.

    Nothing that a peer sends raises: ``ended`` says why no more plain text will come.
    """

    def __init__(self, context: Context) -> None:
        from OpenSSL import SSL

        self._ssl = SSL
        self._connection: Connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        self._handshaken = False
        self.ended: str | None = None

    def receive(self, data: bytes) -> bytes:
        """The plain text that arrived. `outgoing` may have something to send afterwards, an alert too."""
        plain: list[bytes] = []
        try:
            self._connection.bio_write(data)
            self._shake_hands()
            while self._handshaken:
                plain.append(self._connection.recv(RECORD_BYTES))
        except self._ssl.WantReadError:
            pass
        except self._ssl.ZeroReturnError:
            self.ended = "the peer ended TLS"
        except self._ssl.Error as error:
            self.ended = f"TLS failed: {_reason(error)}"
        return b"".join(plain)

    def _shake_hands(self) -> None:
        if not self._handshaken:
            self._connection.do_handshake()
            self._handshaken = True

    def send(self, data: bytes) -> bytes:
        """Cipher text for plain text. TlsError where there is none any more."""
        try:
            self._connection.sendall(data)
        except self._ssl.Error as error:
            raise TlsError(f"TLS failed: {_reason(error)}") from error
        return self.outgoing()

    def end(self) -> bytes:
        """close_notify, unless the connection has failed or not come about."""
        with contextlib.suppress(self._ssl.Error):
            self._connection.shutdown()
        return self.outgoing()

    def outgoing(self) -> bytes:
        """What TLS itself has to say by now."""
        parts: list[bytes] = []
        try:
            while True:
                parts.append(self._connection.bio_read(1 << 20))
        except self._ssl.WantReadError:
            return b"".join(parts)


def _reason(error: Error) -> str:
    """The last of OpenSSL's errors in words."""
    reasons = [str(entry[-1]) for entry in error.args[0]] if error.args and isinstance(error.args[0], list) else []
    return reasons[-1] if reasons else str(error)


def build_server_context(config: TlsConfig) -> Context:
    """TlsHelper.buildSslContext(false). TlsError if certificate, key, ciphers or protocols are not usable."""
    from OpenSSL import SSL

    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_session_id(b"rocketns")
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
        raise TlsError(_reason(error)) from error
    return context


def _use_files(context: Context, side: TlsSide) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates
    from OpenSSL import SSL

    if not side.cert_path or not side.key_path:
        raise TlsContentError("tls.server.certPath and tls.server.keyPath are needed when tls.test.mode.enable=false")
    chain_pem, key_pem = _read(side.cert_path), _read(side.key_path)
    try:
        certificate, *rest = load_pem_x509_certificates(chain_pem)
    except Exception as error:  # ValueError, and others for kinds of content that it does not support
        raise TlsContentError(f"{side.cert_path} holds no usable certificate: {error}") from error
    try:
        key = load_pem_private_key(key_pem, side.key_password.encode() or None)
    except Exception as error:  # also TypeError: a password is missing, or given for nothing
        raise TlsContentError(f"{side.key_path} holds no usable key: {error}") from error
    context.use_certificate(certificate)
    for one in rest:
        context.add_extra_chain_cert(one)
    try:
        context.use_privatekey(key)  # type: ignore[arg-type]
        context.check_privatekey()
    except (SSL.Error, TypeError) as error:  # TypeError: a kind of key that TLS has no use for
        raise TlsError(f"{side.key_path} does not fit to {side.cert_path}: {error}") from error


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error


def _verify_client(context: Context, wanted: ClientAuth, side: TlsSide | None) -> None:
    from OpenSSL import SSL

    flags = {
        ClientAuth.NONE: SSL.VERIFY_NONE,
        ClientAuth.OPTIONAL: SSL.VERIFY_PEER,
        ClientAuth.REQUIRE: SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
    }[wanted]
    if side is not None and not side.verify_peer:
        context.set_verify(flags, lambda *_: True)
        return
    if side is not None and side.trust_cert_path:
        _trust(context, side.trust_cert_path)
    else:
        context.set_default_verify_paths()
    context.set_verify(flags)


def _trust(context: Context, path: str) -> None:
    from OpenSSL import SSL

    try:
        context.load_verify_locations(path)
    except SSL.Error as error:  # also a missing one: here Java makes no difference
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
        raise TlsError(f"tls.ciphers is not usable: {_reason(error)}") from error
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
