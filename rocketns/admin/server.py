"""The HTTP server of the management port: its thread, its loop and its socket."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rocketns.addresses import with_port
from rocketns.admin.answers import GATE, HOSTS, VIEW, add_headers, watched
from rocketns.admin.features import FEATURES
from rocketns.admin.gate import Gate
from rocketns.admin.hosts import Hosts
from rocketns.admin.view import Log, View
from rocketns.server.facts.facts import Facts
from rocketns.server.http.heads import FIELDS_MAX, HEAD_BYTES_MAX
from rocketns.server.listening import Listening
from rocketns.server.sharing import share_python

log = logging.getLogger("rocketns.admin")

STOP_WITHIN_S = 2.0


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

        Else control would wait for the GIL while this thread holds it and has no core.
        """
        self._listening = listening
        self._facts = facts
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="admin", daemon=True)
        self._runner: web.AppRunner | None = None
        self._niceness = niceness
        self._log = log
        self.gate = Gate()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listening.address[1]

    def start(self) -> None:
        """Control only, on its running loop, before the server starts: probes are answered from then on."""
        view = View(self._facts, asyncio.get_running_loop(), self.gate, self._log)
        view.pulse.start()
        app = web.Application(middlewares=[watched])
        config = self._facts.configuration.admin
        app[VIEW], app[GATE] = view, self.gate
        app[HOSTS] = Hosts([socket.gethostname(), config.admin_address, *config.host_names])
        for add in FEATURES:
            add(app, view)
        app.on_response_prepare.append(add_headers)
        self._runner = web.AppRunner(
            app, handle_signals=False, access_log=None, logger=_http_log(), handler_cancellation=True,
            shutdown_timeout=0.5,
            max_line_size=HEAD_BYTES_MAX, max_field_size=HEAD_BYTES_MAX, max_headers=FIELDS_MAX, lingering_time=0,
        )  # fmt: skip
        share_python()
        self._thread.start()
        host, port = self._listening.address
        log.info("management port: http://%s", with_port(host, port))

    def stop(self) -> None:
        """Close all connections. An answer that takes long is cut off."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(STOP_WITHIN_S)
        self._listening.socket.close()

    def _run(self) -> None:
        """The thread. An error here ends the management port, and nothing else."""
        asyncio.set_event_loop(self._loop)
        try:
            self._be_nice()
            self._loop.run_until_complete(self._serve())
        except Exception:
            log.exception("the management port failed; the name server goes on without it")
        finally:
            self._loop.close()

    def _be_nice(self) -> None:
        if sys.platform == "linux" and self._niceness:  # on other systems a thread has no niceness of its own
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + self._niceness)

    async def _serve(self) -> None:
        assert self._runner is not None
        await self._runner.setup()
        make = self._runner.server
        assert make is not None
        server = await self._listening.serve(self.gate.guarded(make))
        self.gate.sweep()
        await self._stopping.wait()
        server.close()
        self.gate.close()
        await self._runner.cleanup()
