"""The server's TLS context: made when it is first needed, and again when its files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.config.tls import TlsConfig, TlsMode
from rocketns.errors import StartupError, TlsContentError, TlsError
from rocketns.server.following import Followed
from rocketns.server.tls.context import build_port_context, build_server_context, read_pair

if TYPE_CHECKING:
    from rocketns._fast.tls.openssl import ServerContext

log = logging.getLogger("rocketns.tls")

WATCH_INTERVAL_MS = 500

WhenReady = Callable[[ssl.SSLContext | None], None]
Use = Callable[["ServerContext | None"], None]


class TlsContexts:
    """NettyRemotingServer.loadSslContext and FileWatchService. ``read_config`` reads the current TLS properties.

    ``certificate_ends_s``: when the certificate in use ends, in seconds of the wall clock; None if there is none.
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
        self.mode = config.mode
        self.test_mode = config.test_mode
        self._for_ports = for_ports
        self._is_used = for_ports or self.mode is not TlsMode.DISABLED
        self._context: ssl.SSLContext | None = None
        self._loaded = False
        self._is_usable = False  # whether one was made
        self.certificate_ends_s: float | None = None
        self.load_failures = 0
        self._making = ThreadPoolExecutor(1, "tls")  # not the loop's executor, which slow DNS lookups may fill
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: list[WhenReady] = []
        self._trust = config.server.trust_cert_path
        self._pair = {config.server.cert_path, config.server.key_path}
        files = (path for path in {*self._pair, self._trust} if path and Path(path).exists())
        self._followed = Followed(files if self._is_used else ())
        self._changed: set[str] = set()
        log.info("Server is running in TLS %s mode", self.mode)

    @property
    def context(self) -> ssl.SSLContext | None:
        """Any thread. The one in use; None until `when_ready` called back."""
        return self._context

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
            callback(self._context)
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
            if self._use is not None and not self._is_usable:
                self._use(None)
            self.load_failures += 1
            log.error("Failed to create SslContext for server: %s", made)
        else:
            for_reactors, self._context, self.certificate_ends_s = made
            if self._use is not None:
                self._use(for_reactors)
            self._is_usable = True
            log.info("SslContext created for server")
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(self._context)
        return made if isinstance(made, TlsError) else None

    def _make(self) -> tuple[ServerContext | None, ssl.SSLContext | None, float] | TlsError:
        """The context of the reactors, that of HTTP ports, and when their certificate ends."""
        try:
            config = self._read_config()
            pair = read_pair(config)
            for_reactors = None if self._use is None else build_server_context(config, pair)
            for_ports = build_port_context(config, pair) if self._for_ports else None
            return for_reactors, for_ports, pair.ends_s
        except TlsError as error:
            return error
        except Exception as error:
            log.exception("the ssl context cannot be made")
            return TlsError(f"{type(error).__name__}: {error}")

    def check_files(self) -> None:
        """Reload if files have changed. A deleted file changes nothing."""
        for path in self._followed.changed():
            self._on_changed(path)

    def reread(self) -> None:
        """Make a new context from the present content of the files."""
        self._reload("SIGHUP, reload the ssl context")

    def _on_changed(self, path: str) -> None:
        """Reload when the trust file changed, or certificate and key both have."""
        if path == self._trust:
            self._reload("The trust certificate changed, reload the ssl context")
        if path in self._pair:
            self._changed.add(path)
            if self._pair <= self._changed:
                self._changed.clear()
                self._reload("The certificate and private key changed, reload the ssl context")

    def _reload(self, why: str) -> None:
        log.info(why)
        if self._loaded:  # otherwise the files are read when they are first needed
            self._load_soon()
