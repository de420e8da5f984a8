"""The server's TLS contexts, that of the reactors and that of HTTP ports (TlsHelper): made when first needed, and again
when their files change.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.client.tls import restrict
from rocketns.config.tls import ClientAuth, TlsConfig, TlsMode, TlsSide, chosen_suites
from rocketns.errors import StartupError, TlsContentError, TlsError
from rocketns.server.following import Followed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import Certificate

    from rocketns._fast.tls.openssl import ServerContext
RSA_BITS = 2048
VERSIONS = {"TLSv1": 0x0301, "TLSv1.1": 0x0302, "TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
WITHOUT = {"TLSv1.1": 1 << 28, "TLSv1.2": 1 << 27}  # SSL_OP_NO_TLSv1_1 and SSL_OP_NO_TLSv1_2
CERTIFICATE, KEY, TRUST, CIPHERS = "certificate", "key", "trust", "ciphers"


@dataclass(frozen=True, slots=True)
class CertificatePair:
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


def read_pair(config: TlsConfig) -> CertificatePair:
    """The pair of the files, or a new one in test mode. TlsError if a file is missing, TlsContentError if it is
    nonsense."""
    return _self_signed() if config.test_mode else _pair_of_files(config.server)


def build_server_context(config: TlsConfig, pair: CertificatePair) -> ServerContext:
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
        suites.check_supported(made.suites())
    except ImportError as error:
        raise TlsError(str(error)) from error
    except ValueError as error:
        raise _failure(config.server, str(error)) from error
    else:
        return made


def build_port_context(config: TlsConfig, pair: CertificatePair) -> ssl.SSLContext:
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


def _load_pair(context: ssl.SSLContext, pair: CertificatePair) -> None:
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


def _pair_of_files(side: TlsSide) -> CertificatePair:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates

    if not side.cert_path or not side.key_path:
        raise TlsContentError("tls.server.certPath and tls.server.keyPath are needed when tls.test.mode.enable=false")
    chain_pem, key_pem = _read(side.cert_path), _read(side.key_path)
    with _refused_content(f"{side.cert_path} holds no usable certificate"):
        chain = load_pem_x509_certificates(chain_pem)
    with _refused_content(f"{side.key_path} holds no usable key"):
        key = load_pem_private_key(key_pem, side.key_password.encode() or None)
    return CertificatePair(chain, key)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error


@contextmanager
def _refused_content(what: str) -> Iterator[None]:
    """TlsContentError for whatever the library raises: ValueError; TypeError, where a password is missing or not
    needed; and others for kinds of content that it does not support.
    """
    try:
        yield
    except Exception as error:
        raise TlsContentError(f"{what}: {error}") from error


def _self_signed() -> CertificatePair:
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
    return CertificatePair([builder.sign(key, hashes.SHA256())], key)


log = logging.getLogger("rocketns.tls")

WATCH_INTERVAL_MS = 500

WhenReady = Callable[[ssl.SSLContext | None], None]
Use = Callable[["ServerContext | None"], None]


class TlsContexts:
    """NettyRemotingServer.loadSslContext and FileWatchService. ``read_config`` reads the current TLS properties.

    Any thread may read ``context``, that of HTTP ports, None until `when_ready` called back; and, None until then,
    ``certificate_ends_s``: when the certificate in use ends, in seconds of the wall clock. ``certificate_path``: its
    file; empty in test mode.
    A context is made in a thread: making a key pair (test mode), or decrypting a key, takes a fraction of a second.
    ``use`` gets each context that is made; None if the first cannot be made.
    ``for_ports``: HTTP ports take TLS alone with this context, also where ``tls.server.mode`` is disabled.
    """

    def __init__(
        self, read_config: Callable[[], TlsConfig], *, for_ports: bool = False, use: Use | None = None
    ) -> None:
        self._read_config = read_config
        self._use = use
        config = read_config()
        self.test_mode = config.test_mode
        self._for_ports = for_ports
        self._is_used = for_ports or config.mode is not TlsMode.DISABLED
        self.context: ssl.SSLContext | None = None
        self._loaded = False
        self.certificate_ends_s: float | None = None
        self.certificate_path = ""
        self.load_failures = 0
        self._making = ThreadPoolExecutor(1, "tls")  # not the loop's executor, which slow DNS lookups may fill
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[WhenReady] = []
        self._trust = config.server.trust_cert_path
        self._pair = {config.server.cert_path, config.server.key_path}
        files = (path for path in {*self._pair, self._trust} if path and Path(path).exists())
        self._followed = Followed(files if self._is_used else ())
        self._changed: set[str] = set()
        log.info("Server is running in TLS %s mode", config.mode)

    async def start(self) -> None:
        """Make the context now if it comes from files: their content at start counts.

        StartupError where Java does not start either: the files exist, but their content is not usable. Where a port
        takes TLS alone, whatever is wrong with them.
        """
        if not self._is_used or self.test_mode:
            return
        error = await self._load()
        if isinstance(error, TlsContentError) or (error is not None and self._for_ports):
            raise StartupError(f"TLS cannot be set up: {error}")

    def when_ready(self, callback: WhenReady) -> None:
        """Call back with the context, None if there is none: at once, or as soon as it is made.

        One from files is made by `start`.
        """
        if self._loaded:
            callback(self.context)
            return
        self._waiting.append(callback)
        if len(self._waiting) == 1 and self.test_mode:
            self._load_soon()

    def _load_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self._load_or_keep())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load_or_keep(self) -> None:
        """Load. After a failure a change of the certificate or the key alone is enough: one may be half written."""
        if await self._load() is not None:
            self._changed |= self._pair

    async def _load(self) -> TlsError | None:
        """Make a context. If that fails, keep the one in use and return the error."""
        made = await asyncio.get_running_loop().run_in_executor(self._making, self._make)
        self._loaded = True
        if isinstance(made, TlsError):
            if self._use is not None and self.certificate_ends_s is None:
                self._use(None)
            self.load_failures += 1
            log.error("Failed to create SslContext for server: %s", made)
        else:
            for_reactors, self.context, self.certificate_ends_s, self.certificate_path = made
            if self._use is not None:
                self._use(for_reactors)
            log.info("SslContext created for server")
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(self.context)
        return made if isinstance(made, TlsError) else None

    def _make(self) -> tuple[ServerContext | None, ssl.SSLContext | None, float, str] | TlsError:
        """The context of the reactors, that of HTTP ports, when their certificate ends, and its file."""
        try:
            config = self._read_config()
            pair = read_pair(config)
            for_reactors = None if self._use is None else build_server_context(config, pair)
            for_ports = build_port_context(config, pair) if self._for_ports else None
            return for_reactors, for_ports, pair.ends_s, "" if config.test_mode else config.server.cert_path
        except TlsError as error:
            return error
        except Exception as error:
            log.exception("the ssl context cannot be made")
            return TlsError(f"{type(error).__name__}: {error}")

    def check_files(self) -> None:
        """Reload when the trust file changed, or certificate and key both have. A deleted file changes nothing."""
        for path in self._followed.changed():
            if path == self._trust:
                self._reload("The trust certificate changed, reload the ssl context")
            if path in self._pair:
                self._changed.add(path)
                if self._pair <= self._changed:
                    self._changed.clear()
                    self._reload("The certificate and private key changed, reload the ssl context")

    def reread(self) -> None:
        """Make a new context from the present content of the files."""
        self._reload("SIGHUP, reload the ssl context")

    def _reload(self, why: str) -> None:
        log.info(why)
        if self._loaded:  # otherwise the files are read when they are first needed
            self._load_soon()
