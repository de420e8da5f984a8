"""The server's TLS context over time: made when first needed, made anew when its files change."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.config.tls import TlsConfig, TlsMode
from rocketns.server import tls
from rocketns.server.tls import TlsError

if TYPE_CHECKING:
    from OpenSSL.SSL import Context

log = logging.getLogger("rocketns.tls")

WATCH_INTERVAL_MS = 500

WhenReady = Callable[["Context | None"], None]


class TlsContexts:
    """NettyRemotingServer.loadSslContext and FileWatchService. ``read_config`` reads the TLS properties anew."""

    def __init__(self, read_config: Callable[[], TlsConfig]) -> None:
        self._read_config = read_config
        config = read_config()
        self.mode = config.mode
        self._context: Context | None = None
        self._loaded = False
        self._waiting: list[WhenReady] = []
        self._cert, self._key, self._trust = (
            config.server.cert_path, config.server.key_path, config.server.trust_cert_path
        )  # fmt: skip
        files = (path for path in (self._cert, self._key, self._trust) if path and Path(path).exists())
        self._digests = {path: _digest(path) for path in files} if self.mode is not TlsMode.DISABLED else {}
        self._changed: set[str] = set()
        log.info("Server is running in TLS %s mode", self.mode)

    def when_ready(self, callback: WhenReady) -> None:
        """Call back with the context, None if there is none: at once, or once a thread has made it.

        Making it takes a fraction of a second (a key pair in test mode), which the event loop must not wait for.
        """
        if self._loaded:
            callback(self._context)
            return
        self._waiting.append(callback)
        if len(self._waiting) == 1:
            making = asyncio.get_running_loop().run_in_executor(None, self._make)
            making.add_done_callback(self._made)

    def _make(self) -> Context | None:
        try:
            context = tls.build_server_context(self._read_config())
        except TlsError as error:
            log.error("Failed to create SslContext for server: %s", error)
            return None
        log.info("SslContext created for server")
        return context

    def _made(self, making: asyncio.Future[Context | None]) -> None:
        self._context, self._loaded = making.result(), True
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(self._context)

    def check_files(self) -> None:
        """Reload when the trust file changed, or certificate and key both have; a deleted file changes nothing."""
        for path, digest in self._digests.items():
            new = _digest(path)
            if new and new != digest:
                self._digests[path] = new
                self._changed.add(path)
        if self._trust in self._changed:
            self._changed.discard(self._trust)
            self._reload("The trust certificate changed, reload the ssl context")
        if {self._cert, self._key} <= self._changed:
            self._changed -= {self._cert, self._key}
            self._reload("The certificate and private key changed, reload the ssl context")

    def _reload(self, why: str) -> None:
        """A context that cannot be made leaves the one in use."""
        log.info(why)
        if self._loaded:
            self._context = self._make() or self._context


def _digest(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""
