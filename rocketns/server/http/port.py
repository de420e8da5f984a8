"""An HTTP port: a server on a thread and an event loop of its own, for the management port and the address server.

Accepted at once, connections wait for their handshake and for their requests in turns of their hosts: see `secured` and
`connections`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

from aiohttp.http_exceptions import HttpProcessingError

from rocketns.addresses import with_port
from rocketns.errors import StartupError
from rocketns.server.http.connections import HttpGate
from rocketns.server.http.heads import FIELDS_MAX, HEAD_BYTES_MAX
from rocketns.server.http.secured import TlsPort
from rocketns.server.listening import bind
from rocketns.server.process import be_nicer

STOP_WITHIN_S = 2.0
# While two threads want to run Python, each may run for so long. With Python's 5 ms, control would wait for an answer.
SWITCH_INTERVAL_S = 0.0005

log = logging.getLogger("rocketns.http")


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an error is the server's own. Faults of peers, and peers that left, must not fill the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | ConnectionError))


http_log = logging.Logger(log.name)
http_log.parent = log
http_log.addFilter(_is_ours)
# How aiohttp's protocols are made.
AIOHTTP: dict[str, Any] = {
    "access_log": None, "logger": http_log, "max_line_size": HEAD_BYTES_MAX, "max_field_size": HEAD_BYTES_MAX,
    "max_headers": FIELDS_MAX, "lingering_time": 0,
}  # fmt: skip


class HttpPort:
    """Made, started and stopped by control; a subclass makes what answers. It listens from its making on, as two
    sockets may be bound to one address until one of them listens.
    """

    def __init__(
        self, name: str, thread: str, address: tuple[str, int], gate: HttpGate, tls: TlsPort | None, *, ipv4_only: bool,
        chosen_by: str, niceness: int = 0,
    ) -> None:  # fmt: skip
        """``name`` is for the log, ``chosen_by`` the property that has the address. ``niceness``: how much nicer than
        the process its thread is. It must not be nicer than control: else control would wait for the GIL while this
        thread holds it and has no core. StartupError if the address cannot be had.
        """
        self.gate = gate
        self.tls = tls
        self._name = name
        try:
            self._listening = bind(*address, ipv4_only=ipv4_only, chosen_by=chosen_by)
            self._listening.listen()
        except StartupError as error:
            raise StartupError(f"the {name}: {error}") from error
        self._listening.socket.setblocking(False)
        self._niceness = niceness
        self._loop = asyncio.new_event_loop()
        self._ready, self._stopping = asyncio.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self._listening.address

    async def set_up(self) -> Callable[[], asyncio.Protocol]:
        """On its loop: what makes aiohttp's protocol of a connection."""
        raise NotImplementedError

    async def tear_down(self) -> None:
        """On its loop, at the end."""

    def serve(self) -> None:
        """Control only, on its running loop. Earlier connections have waited, and wait on until there is a context."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._thread.start()
        if self.tls is None:
            self.call(self._ready.set)
        else:
            if self.tls.contexts.test_mode:
                log.warning(
                    "%s: nobody can verify its certificate, which is made at each start. Set "
                    "tls.test.mode.enable=false, tls.server.certPath and tls.server.keyPath", self._name
                )  # fmt: skip
            self.tls.contexts.when_ready(lambda _: self.call(self._ready.set))
        log.info("%s: http%s://%s", self._name, "" if self.tls is None else "s", with_port(*self.address))

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Control only: call a function on the port's loop. Nothing is called once the loop has ended."""
        with contextlib.suppress(RuntimeError):  # it is closed, which its thread may do at any moment
            self._loop.call_soon_threadsafe(function, *arguments)

    def stop(self) -> None:
        """Close all connections. An answer that takes long is cut off."""
        self.call(self._stopping.set)
        self.call(self._ready.set)
        if self._thread.ident is not None:
            self._thread.join(STOP_WITHIN_S)
        self._listening.socket.close()

    def _run(self) -> None:
        """The thread. An error here ends the port, and nothing else."""
        try:
            be_nicer(self._niceness)
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except Exception:
            log.exception("the %s failed; the name server goes on without it", self._name)

    async def _serve(self) -> None:
        guarded = self.gate.guarded(await self.set_up())
        await self._ready.wait()
        server = await self._listening.serve(guarded if self.tls is None else self.tls.under(guarded))
        self.gate.sweep()
        await self._stopping.wait()
        server.close()
        self.gate.close()
        await self.tear_down()
