"""TLS clients made with the standard library's ssl, independent of rocketns' own TLS."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from interop.harness import codes
from interop.harness.wire import Client
from tests.support.certificates import Files

# What a client gets if the server refuses TLS: an alert, an end or a reset.
REFUSED = (ssl.SSLError, ConnectionError)


def any_server(identity: Files | None = None) -> ssl.SSLContext:
    """A context that trusts every server and offers ``identity`` as its client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context


def only(version: ssl.TLSVersion, ciphers: str = "") -> ssl.SSLContext:
    """A context for one protocol version. For TLS 1.2 it offers only the given cipher suites (OpenSSL's names)."""
    context = any_server()
    context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    return context


@dataclass
class TlsClient(Client):
    """A connection that begins TLS after sending ``before``. The constructor does the handshake, or raises."""

    context: ssl.SSLContext = field(default_factory=any_server)
    before: bytes = b""

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = self.socket
        try:
            self.send(self.before)
            self.socket = self.context.wrap_socket(plain)
        except BaseException:
            plain.close()
            raise

    @property
    def tls(self) -> ssl.SSLSocket:
        assert isinstance(self.socket, ssl.SSLSocket)
        return self.socket

    @property
    def served_certificate(self) -> bytes:
        """The server's certificate, DER."""
        der = self.tls.getpeercert(binary_form=True)
        assert der is not None
        return der


class TlsPeer:
    """The client's side without a socket, for tests that cut and join the bytes themselves."""

    def __init__(self, context: ssl.SSLContext | None = None, session: ssl.SSLSession | None = None) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = (context or any_server()).wrap_bio(self._incoming, self._outgoing, session=session)
        self.handshaken = False
        self.ended = False  # the server has sent close_notify

    def shake_hands(self, received: bytes = b"") -> bytes:
        """Process the server's bytes of the handshake and return the bytes to send. The first are the hello."""
        self._incoming.write(received)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self.handshaken = True
        return self._outgoing.read()

    @property
    def session(self) -> ssl.SSLSession | None:
        """What another connection can go on with."""
        return self._tls.session

    @property
    def was_resumed(self) -> bool:
        """Whether the server knew the session."""
        return bool(self._tls.session_reused)

    def cipher(self) -> str:
        """OpenSSL's name of the cipher suite that was agreed on."""
        cipher = self._tls.cipher()
        assert cipher is not None
        return cipher[0]

    def served_certificate(self) -> bytes:
        """The server's certificate, DER."""
        der = self._tls.getpeercert(binary_form=True)
        assert der is not None
        return der

    def encrypt(self, plain: bytes) -> bytes:
        self._tls.write(plain)
        return self._outgoing.read()

    def decrypt(self, received: bytes) -> bytes:
        self._incoming.write(received)
        plain = b""
        try:
            while part := self._tls.read():
                plain += part
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        return plain

    def end(self) -> bytes:
        """Send close_notify."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        return self._outgoing.read()

    def connect(self, client: Client) -> None:
        """Begin TLS on a plain connection."""
        client.send(self.shake_hands())
        while not self.handshaken:
            client.send(self.shake_hands(client.socket.recv(1 << 16)))


class Updating:
    """As `TlsPeer`, of TLS 1.3 on OpenSSL's own functions, because the standard library cannot ask for new keys."""

    def __init__(self) -> None:
        self._library = library = ctypes.CDLL(ctypes.util.find_library("ssl"))
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new", "BIO_s_mem", "BIO_new"):
            getattr(library, name).restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(library.SSL_CTX_new(ctypes.c_void_p(library.TLS_client_method())))
        self._tls = ctypes.c_void_p(library.SSL_new(self._context))
        memory = ctypes.c_void_p(library.BIO_s_mem())
        self._incoming, self._outgoing = (ctypes.c_void_p(library.BIO_new(memory)) for _ in range(2))
        library.SSL_set_bio(self._tls, self._incoming, self._outgoing)
        library.SSL_set_connect_state(self._tls)
        self._room = ctypes.create_string_buffer(1 << 16)
        self.handshaken = False

    def _took(self, size: int) -> bytes:
        return self._room.raw[:size] if size > 0 else b""

    def shake_hands(self, received: bytes = b"") -> bytes:
        """Process the server's bytes of the handshake and return the bytes to send."""
        self._library.BIO_write(self._incoming, received, len(received))
        self.handshaken = self._library.SSL_do_handshake(self._tls) == 1
        return self._took(self._library.BIO_read(self._outgoing, self._room, len(self._room)))

    def update(self, *, both: bool) -> bytes:
        """Write with other keys from now on; ``both``: the server is asked to do so, too."""
        assert self._library.SSL_key_update(self._tls, int(both)) == 1
        return self.shake_hands()

    def encrypt(self, plain: bytes) -> bytes:
        assert self._library.SSL_write(self._tls, plain, len(plain)) == len(plain)
        return self._took(self._library.BIO_read(self._outgoing, self._room, len(self._room)))

    def decrypt(self, received: bytes) -> bytes:
        self._library.BIO_write(self._incoming, received, len(received))
        return self._took(self._library.SSL_read(self._tls, self._room, len(self._room)))

    def close(self) -> None:
        self._library.SSL_free(self._tls)
        self._library.SSL_CTX_free(self._context)


def answers(client: Client) -> bool:
    """Whether the server answers a request on the connection."""
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}).code == codes.QUERY_NOT_FOUND


def is_served(connect: Callable[[], Client]) -> bool:
    """Whether a connection can be opened and gets an answer; False if the server refuses or closes it."""
    try:
        with connect() as client:
            return answers(client)
    except REFUSED:
        return False
