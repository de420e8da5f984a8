"""The HTTP side. Its peers may be anybody, so whatever they can hold is bounded.

Java's clients and brokers (DefaultTopAddressing), and those of Go and C++, ask ``GET /rocketmq/nsaddr``, or
``/rocketmq/nsaddr-UNIT?nofix=1`` with a unit name; another word may take the place of nsaddr
(``rocketmq.namesrv.domain.subgroup``). The answer's first line is the list: ``host:port;host:port``. There is one
list, for all of these names.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Callable

from aiohttp import web

from rocketns.addressserver.listing import ListedNameServers
from rocketns.server.http.heads import FIELDS_MAX, HEAD_BYTES_MAX
from rocketns.server.http.requests import Requests

log = logging.getLogger("rocketns.addressserver")

ASKED = re.compile(r"/rocketmq/[^/]+")
CONNECTIONS_MAX = 64
# From the moment in which a connection is accepted, which is when its first bytes are there.
CONNECTION_S = 5.0
FIRST_BYTES_WITHIN_S = 3
# A request takes 0.35 ms of CPU time. 10,000 clients that ask every 2 min are 83 a second.
ACCEPTED_PER_S_MAX = 500
# So much lost time is made up for: timers come a millisecond late, and other threads run Python.
LATE_S_MAX = 0.1
ACCEPT_AGAIN_S = 1.0
# Seconds since a name server was ready, where a list is given although none is.
KEPT = "X-Rocketns-Kept-Seconds"
COMMON = {"Cache-Control": "no-store", "Server": "rocketns"}
# With a stack in the log for each garbage request, its sender could fill the log.
SILENT = logging.Logger("aiohttp", logging.CRITICAL + 1)


def make_protocols(listed: Callable[[], ListedNameServers]) -> Callable[[], Requests]:
    """Makes the protocol of one connection. On a running event loop."""

    async def answer(request: web.BaseRequest) -> web.Response:
        response = _answer(request.method, request.path, listed)
        response.force_close()
        return response

    server = web.Server(
        answer, access_log=None, logger=SILENT, max_line_size=HEAD_BYTES_MAX, max_field_size=HEAD_BYTES_MAX,
        max_headers=FIELDS_MAX, lingering_time=0.0,
    )  # fmt: skip
    return lambda: Requests(server)


def _answer(method: str, path: str, listed: Callable[[], ListedNameServers]) -> web.Response:
    if method not in ("GET", "HEAD"):
        return web.Response(status=405, headers=COMMON | {"Allow": "GET, HEAD"})
    if not ASKED.fullmatch(path):
        return web.Response(status=404, headers=COMMON)
    found = listed()
    # Without a body: a client that does not look at the status finds no address either, and keeps the list it has.
    status = 200 if found.addresses else 503
    kept = {} if found.kept_s is None else {KEPT: f"{found.kept_s:.0f}"}
    return web.Response(text=";".join(found.addresses), status=status, headers=COMMON | kept)


class Accepting:
    """Accepts connections, at most CONNECTIONS_MAX at once. A new one takes the place of the oldest."""

    def __init__(self, listening: socket.socket, make_protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        self._listening = listening
        self._make_protocol = make_protocol
        self._open: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}

    async def run(self) -> None:
        """Until the task is cancelled."""
        loop = asyncio.get_running_loop()
        self._listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, FIRST_BYTES_WITHIN_S)
        next_s = loop.time()
        while True:
            await asyncio.sleep(next_s - loop.time())
            next_s = max(next_s, loop.time() - LATE_S_MAX) + 1 / ACCEPTED_PER_S_MAX
            try:
                await self._accept(loop)
            except OSError as error:
                log.warning("the address server cannot accept connections: %s", error)
                next_s += ACCEPT_AGAIN_S

    async def _accept(self, loop: asyncio.AbstractEventLoop) -> None:
        connection, _ = await loop.sock_accept(self._listening)
        transport, _ = await loop.connect_accepted_socket(self._make_protocol, connection)
        self._open[transport] = loop.call_later(CONNECTION_S, self._end, transport)
        if len(self._open) > CONNECTIONS_MAX:
            self._make_room()

    def _make_room(self) -> None:
        """Forget the ended connections; if there are none, end the oldest."""
        ended = [transport for transport in self._open if transport.is_closing()]
        for transport in ended or [next(iter(self._open))]:
            self._end(transport)

    def _end(self, transport: asyncio.BaseTransport) -> None:
        self._open.pop(transport).cancel()
        if isinstance(transport, asyncio.Transport):
            transport.abort()

    def close(self) -> None:
        """End every connection."""
        for transport in list(self._open):
            self._end(transport)
