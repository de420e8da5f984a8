"""The bytes before the frames of a connection: a PROXY header, then TLS or not (HandshakeHandler, TlsModeHandler)."""

from __future__ import annotations

from rocketns.config.tls import TlsMode
from rocketns.errors import MalformedFrame, UntrustedProxy
from rocketns.protocol import proxy
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE

UNTRUSTED = "a PROXY header from an address that is not in rocketns.trustedProxies"


class Handshake:
    """`take` is called with all bytes received so far, until ``is_plain`` or ``is_tls``.

    ``source`` is the peer's address that a PROXY header announced. ``is_waiting``: TLS waits for its context.
    """

    __slots__ = (
        "_may_announce", "_mode", "_seen_proxy", "is_plain", "is_tls", "is_waiting", "source", "waits_since_ms",
    )  # fmt: skip

    def __init__(self, mode: TlsMode) -> None:
        self._mode = mode
        self._seen_proxy = False
        self.is_plain = False
        self.is_tls = False
        self.is_waiting = False
        self.waits_since_ms = 0
        self._may_announce = True
        self.source: str | None = None

    def wait(self, now_ms: int) -> None:
        """TLS begins when its context is ready."""
        self.is_waiting, self.waits_since_ms = True, now_ms

    def refuse_proxies(self) -> None:
        """A PROXY header of this peer is an UntrustedProxy."""
        self._may_announce = False

    def take(self, received: bytearray) -> int:
        """The number of bytes to remove. MalformedFrame if the connection must be closed."""
        if self.is_tls:
            return 0
        taken = 0
        if not self._seen_proxy:
            taken = self._take_proxy(received)
        if self._seen_proxy and len(received) > taken:
            self._look_at(received[taken])
        return taken

    def _take_proxy(self, received: bytearray) -> int:
        if len(received) < proxy.DETECTION_BYTES:
            return 0
        if not proxy.is_proxied(bytes(received[: proxy.DETECTION_BYTES])):
            self._seen_proxy = True
            return 0
        if not self._may_announce:
            raise UntrustedProxy(UNTRUSTED)
        header = proxy.parse(bytes(received[: proxy.V2_BYTES_MAX]))
        if header is None:
            return 0
        self._seen_proxy, self.source = True, header.source
        return header.size

    def _look_at(self, first: int) -> None:
        self.is_tls = first == HANDSHAKE_MAGIC_CODE
        self.is_plain = not self.is_tls
        if self.is_tls and self._mode is TlsMode.DISABLED:
            raise MalformedFrame("it wants TLS, and tls.server.mode is disabled")
        if self.is_plain and self._mode is TlsMode.ENFORCING:
            raise MalformedFrame("it does not use TLS, and tls.server.mode is enforcing")
