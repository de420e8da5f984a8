"""TLS without a socket: contexts made of a TlsConfig (TlsHelper), and one connection's bytes in and out.

pyOpenSSL rather than the standard library's ssl: Java's `tls.server.authClient=false` asks for a client certificate and
trusts any, for which a verification callback is needed. It is imported when TLS is first used.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rocketns.config.tls import ClientAuth, TlsConfig, TlsSide
from rocketns.errors import RocketnsError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from OpenSSL.SSL import Connection, Context

HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection
RECORD_BYTES = 16 * 1024
RSA_BITS = 2048


class TlsError(RocketnsError):
    """TLS cannot be set up, or the peer's bytes are no TLS; the connection is closed."""


class TlsStream:
    """One server-side connection: cipher text in, plain text out, and the other way round."""

    def __init__(self, context: Context) -> None:
        from OpenSSL import SSL

        self._ssl = SSL
        self._connection: Connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        self._handshaken = False

    def receive(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Plain text that arrived, cipher text to send, and whether the peer ended. TlsError if it is no TLS."""
        ended = False
        plain: list[bytes] = []
        try:
            self._connection.bio_write(data)
            self._shake_hands()
            while self._handshaken:
                plain.append(self._connection.recv(RECORD_BYTES))
        except self._ssl.WantReadError:
            pass
        except self._ssl.ZeroReturnError:
            ended = True
        except self._ssl.Error as error:
            raise TlsError(f"TLS failed: {error}") from error
        return b"".join(plain), self._outgoing(), ended

    def _shake_hands(self) -> None:
        if not self._handshaken:
            self._connection.do_handshake()
            self._handshaken = True

    def send(self, data: bytes) -> bytes:
        """Cipher text for plain text."""
        self._connection.sendall(data)
        return self._outgoing()

    def _outgoing(self) -> bytes:
        parts: list[bytes] = []
        try:
            while True:
                parts.append(self._connection.bio_read(1 << 20))
        except self._ssl.WantReadError:
            return b"".join(parts)


def build_server_context(config: TlsConfig) -> Context:
    """TlsHelper.buildSslContext(false). TlsError if certificate, key, ciphers or protocols are not usable."""
    from OpenSSL import SSL

    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_session_id(b"rocketns")
    try:
        if config.test_mode:
            _use_self_signed(context)
            _verify_client(context, ClientAuth.OPTIONAL, None)
        else:
            _use_files(context, config.server)
            _verify_client(context, config.client_auth, config.server)
        _restrict(context, config)
    except (SSL.Error, OSError, ValueError, TypeError) as error:
        raise TlsError(f"no usable TLS configuration: {error}") from error
    return context


def _use_files(context: Context, side: TlsSide) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if not side.cert_path or not side.key_path:
        raise TlsError("tls.server.certPath and tls.server.keyPath are needed when tls.test.mode.enable is false")
    context.use_certificate_chain_file(side.cert_path)
    with open(side.key_path, "rb") as file:  # noqa: PTH123
        key = load_pem_private_key(file.read(), side.key_password.encode() or None)
    context.use_privatekey(key)  # type: ignore[arg-type]
    context.check_privatekey()


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
        context.load_verify_locations(side.trust_cert_path)
    else:
        context.set_default_verify_paths()
    context.set_verify(flags)


def _restrict(context: Context, config: TlsConfig) -> None:
    """Java's cipher and protocol names, as far as they are given."""
    from OpenSSL import SSL

    versions = {"TLSv1": SSL.TLS1_VERSION, "TLSv1.1": SSL.TLS1_1_VERSION, "TLSv1.2": SSL.TLS1_2_VERSION,
                "TLSv1.3": SSL.TLS1_3_VERSION}  # fmt: skip
    chosen = [versions[name] for name in config.protocols if name in versions]
    if config.protocols and not chosen:
        raise TlsError(f"tls.protocols has none of {', '.join(versions)}")
    context.set_min_proto_version(min(chosen, default=SSL.TLS1_2_VERSION))
    context.set_max_proto_version(max(chosen, default=0))
    modern = [name for name in config.ciphers if "_WITH_" not in name]
    older = [openssl_name(name) for name in config.ciphers if "_WITH_" in name]
    if older:
        context.set_cipher_list(":".join(older).encode())
    if modern:
        context.set_tls13_ciphersuites(":".join(modern).encode())


def openssl_name(java_name: str) -> str:
    """``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` → ``ECDHE-RSA-AES128-GCM-SHA256``."""
    exchange, _, cipher = java_name.removeprefix("TLS_").partition("_WITH_")
    for bits in ("128", "256"):
        cipher = cipher.replace(f"AES_{bits}", f"AES{bits}")
    cipher = cipher.replace("_CBC", "").replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    prefix = "" if exchange == "RSA" else exchange + "-"
    return (prefix + cipher).replace("_", "-")


def _use_self_signed(context: Context) -> None:
    """Netty's SelfSignedCertificate: CN=localhost, RSA 2048, SHA256withRSA, from a year ago to the end of 9999."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    context.use_privatekey(key)
    context.use_certificate(_self_signed(key))


def _self_signed(key: object) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509.oid import NameOID

    assert isinstance(key, RSAPrivateKey)
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
