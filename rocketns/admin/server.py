"""The HTTP server of the management port: its thread, its loop and its socket; and the list of its features.

To add one: write a module with a function ``add(app, view)``, and add it to FEATURES. Each path needs a class in
`rocketns/admin/tokens.py`: without one the server does not start.

* ``app.router.add_get("/path", handler)`` adds a handler: ``async def handler(request) -> web.StreamResponse``.
  It runs on the loop of the management port. It has ``view`` from the closure, or as ``request.app[VIEW]``.
* Data comes from ``view`` only: see `rocketns/admin/view.py` for the three ways. `Busy` becomes 503, any other
  unforeseen error 500 and a line in the log.
* A handler that runs long without waiting holds the GIL, and control waits for it: give up the loop every few
  milliseconds (``await asyncio.sleep(0)``), and encode large answers by orjson, in pages.
* An answer without end, such as server-sent events, first calls ``open_stream(request)`` of
  `rocketns/admin/answers.py`. At most STREAMS_MAX of them are open: see `AdminGate.has_room`.
* A task of its own: ``app.cleanup_ctx.append(…)`` as aiohttp's documentation says. It runs on this loop.
* What control must note as it happens: ``view.facts.watch(…)`` in ``add``, which is called on control's
  thread before the server starts. It is called on control's thread and must take microseconds.
* No handler changes anything. The drain is the only exception. A request other than GET and HEAD needs CHANGE_HEADER.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from aiohttp import web

from rocketns.admin import page, probes
from rocketns.admin.answers import HOSTS, VIEW, Hosts, add_headers, watched
from rocketns.admin.api import handlers
from rocketns.admin.metrics import exposition
from rocketns.admin.tokens import AdminGate, TokenAccess, class_of
from rocketns.admin.view import ControlView, Log
from rocketns.server.facts import Facts
from rocketns.server.following import WATCH_INTERVAL_MS
from rocketns.server.http.port import AIOHTTP, HttpPort
from rocketns.server.http.secured import TlsPort

LOOPBACK = ("127.0.0.1", "::1")

Feature = Callable[[web.Application, ControlView], None]
FEATURES: tuple[Feature, ...] = (probes.add, exposition.add, handlers.add, page.add)
log = logging.getLogger("rocketns.admin")


class AdminServer(HttpPort):
    """`start` and `stop` are for control's thread. The socket is bound before `start` returns."""

    _runner: web.AppRunner  # from the start on

    def __init__(self, facts: Facts, niceness: int = 0, log: Log | None = None) -> None:
        """StartupError if the file of tokens is not usable, or the address cannot be had."""
        config = facts.configuration.admin
        self._facts = facts
        self._log = log
        access = TokenAccess(config.admin_tokens_file) if config.admin_tokens_file else None
        gate = AdminGate(access, TlsPort(facts.tls) if config.admin_tls else None)
        super().__init__(
            "management port", "admin", (config.admin_address, config.admin_port), gate, gate.tls,
            ipv4_only=facts.configuration.ipv4_only, chosen_by="rocketns.adminPort", niceness=niceness,
        )  # fmt: skip
        self.gate: AdminGate = gate

    def start(self) -> None:
        """Control only, on its running loop, before the server starts: probes are answered from then on."""
        view = ControlView(self._facts, asyncio.get_running_loop(), self.gate, self._log)
        view.beat()
        config = self._facts.configuration.admin
        app = web.Application(middlewares=[watched])
        app[VIEW] = view
        app[HOSTS] = Hosts([socket.gethostname(), config.admin_address, *config.host_names])
        for add in FEATURES:
            add(app, view)
        for resource in app.router.resources():
            class_of(resource.canonical)
        app.on_response_prepare.append(add_headers)
        self._runner = web.AppRunner(app, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.5,
                                     **AIOHTTP)  # fmt: skip
        self.serve()
        if self.tls is None and self.gate.access is not None and self.address[0] not in LOOPBACK:
            log.warning("management port: tokens cross the network unencrypted. Set rocketns.adminTls=true, or let "
                        "only an ingress with TLS reach the port")  # fmt: skip

    def reread(self) -> None:
        """Control only, at SIGHUP: read the file of tokens again. TLS files are read again by `TlsContexts`."""
        if self.gate.access is not None:
            self.gate.access.reread()

    async def set_up(self) -> Callable[[], asyncio.Protocol]:
        await self._runner.setup()
        assert self._runner.server is not None
        if self.gate.access is not None:
            # Streams began with the tokens before: their readers ask again.
            self.gate.access.when_changed = self.gate.end_streams
            self._follow(self.gate.access)
        return self._runner.server

    async def tear_down(self) -> None:
        await self._runner.cleanup()

    def _follow(self, access: TokenAccess) -> None:
        """Look at the file now and then, until the loop ends."""
        access.check()
        self._loop.call_later(WATCH_INTERVAL_MS / 1000, self._follow, access)
