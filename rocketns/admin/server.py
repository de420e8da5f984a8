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
import os
import socket
import sys
import threading
from collections.abc import Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rocketns.addresses import with_port
from rocketns.admin import api, page, probes, tokens
from rocketns.admin.answers import GATE, HOSTS, VIEW, Hosts, add_headers, watched
from rocketns.admin.gate import AdminGate
from rocketns.admin.metrics import exposition
from rocketns.admin.tokens import TokenAccess, TokenFile
from rocketns.admin.view import ControlView, Log
from rocketns.server.facts.facts import Facts
from rocketns.server.http.heads import FIELDS_MAX, HEAD_BYTES_MAX
from rocketns.server.http.secured import TlsPort
from rocketns.server.listening import Listening
from rocketns.server.sharing import share_python
from rocketns.server.tls.contexts import WATCH_INTERVAL_MS

STOP_WITHIN_S = 2.0
LOOPBACK = ("127.0.0.1", "::1")


FEATURES: tuple[Callable[[web.Application, ControlView], None], ...] = (probes.add, exposition.add, api.add, page.add)
log = logging.getLogger("rocketns.admin")


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an error is the server's own. Faults of peers, and peers that left, must not fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | ConnectionError))


def _http_log() -> logging.Logger:
    http_log = logging.Logger(log.name)
    http_log.parent = log
    http_log.addFilter(_is_ours)
    return http_log


class AdminServer:
    """`start` and `stop` are for control's thread. The socket is bound before `start` returns."""

    def __init__(self, facts: Facts, listening: Listening, niceness: int = 0, log: Log | None = None) -> None:
        """``niceness``: how much nicer than the process its thread is. It must not be nicer than control.

        Else control would wait for the GIL while this thread holds it and has no core. StartupError if the file of
        tokens is not usable.
        """
        config = facts.configuration.admin
        self._listening = listening
        self._facts = facts
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="admin", daemon=True)
        self._runner: web.AppRunner | None = None
        self._niceness = niceness
        self._log = log
        self._tokens = TokenFile(config.admin_tokens_file) if config.admin_tokens_file else None
        access = None if self._tokens is None else TokenAccess(self._tokens)
        self.gate = AdminGate(access, TlsPort(facts.tls) if config.admin_tls else None)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listening.address[1]

    def start(self) -> None:
        """Control only, on its running loop, before the server starts: probes are answered from then on."""
        view = ControlView(self._facts, asyncio.get_running_loop(), self.gate, self._log)
        view.pulse.start()
        config = self._facts.configuration.admin
        app = web.Application(middlewares=[watched])
        app[VIEW], app[GATE] = view, self.gate
        app[HOSTS] = Hosts([socket.gethostname(), config.admin_address, *config.host_names])
        for add in FEATURES:
            add(app, view)
        tokens.check(resource.canonical for resource in app.router.resources())
        app.on_response_prepare.append(add_headers)
        self._runner = web.AppRunner(
            app, handle_signals=False, access_log=None, logger=_http_log(), handler_cancellation=True,
            shutdown_timeout=0.5,
            max_line_size=HEAD_BYTES_MAX, max_field_size=HEAD_BYTES_MAX, max_headers=FIELDS_MAX, lingering_time=0,
        )  # fmt: skip
        share_python()
        if self.gate.tls is not None:
            self.gate.tls.begin("management port", self._loop)
        self._thread.start()
        host, port = self._listening.address
        log.info("management port: http%s://%s", "s" if config.admin_tls else "", with_port(host, port))
        if self.gate.tls is None and self.gate.access is not None and host not in LOOPBACK:
            log.warning("management port: tokens cross the network unencrypted. Set rocketns.adminTls=true, or let "
                        "only an ingress with TLS reach the port")  # fmt: skip

    def reread(self) -> None:
        """Control only, at SIGHUP: read the file of tokens again. TLS files are read again by `TlsContexts`."""
        if self._tokens is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._take_tokens, self._tokens.reread)

    def stop(self) -> None:
        """Close all connections. An answer that takes long is cut off."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._begin_to_stop)
            self._thread.join(STOP_WITHIN_S)
        self._listening.socket.close()

    def _begin_to_stop(self) -> None:
        self._stopping.set()
        if self.gate.tls is not None:
            self.gate.tls.give_up()

    def _run(self) -> None:
        """The thread. An error here ends the management port, and nothing else."""
        asyncio.set_event_loop(self._loop)
        try:
            if sys.platform == "linux" and self._niceness:  # on other systems a thread has no niceness of its own
                thread = threading.get_native_id()
                os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + self._niceness)
            self._loop.run_until_complete(self._serve())
        except Exception:
            log.exception("the management port failed; the name server goes on without it")
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        assert self._runner is not None
        await self._runner.setup()
        handlers = self._runner.server
        assert handlers is not None
        guarded = self.gate.guarded(handlers)
        make: Callable[[], asyncio.BaseProtocol] = guarded
        if self.gate.tls is not None:
            await self.gate.tls.ready()
            make = self.gate.tls.under(guarded)
        server = await self._listening.serve(make)
        self.gate.sweep()
        if self._tokens is not None:
            self._follow(self._tokens)
        await self._stopping.wait()
        server.close()
        self.gate.close()
        await self._runner.cleanup()

    def _take_tokens(self, read: Callable[[], bool]) -> None:
        """Streams began with the tokens before: their readers ask again."""
        if read():
            self.gate.end_streams()

    def _follow(self, tokens: TokenFile) -> None:
        """Look at the file now and then, until the loop ends."""
        self._take_tokens(tokens.check)
        self._loop.call_later(WATCH_INTERVAL_MS / 1000, self._follow, tokens)
