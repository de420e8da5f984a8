"""``/api/v1/stream``: server-sent events, a message a second for each reader.

* ``status``: what ``/api/v1/status`` answers.
* ``beats``: ``[[group, id, time], …]``, the brokers heard in the last HEARD_MS, so a heartbeat may come again.
* ``changes``: the new rows of ``/api/v1/events``.
* ``gap``: this reader was too slow, or more happened than a message may have. It should read everything again.

Status and heartbeats are made once a second for all readers, and only while there are any. A reader that takes nothing
at all is closed by the gate.
"""

from __future__ import annotations

import asyncio
import math
import time
from functools import partial

from aiohttp import web

from rocketns.admin.answers import open_stream
from rocketns.admin.api.copies import copy_brokers
from rocketns.admin.api.handlers import ROOT
from rocketns.admin.api.paging import dumps
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import ApiSource
from rocketns.admin.recent import Recent, worded
from rocketns.admin.view import Busy

PATH = f"{ROOT}/stream"
PERIOD_S = 1.0
# A copy of brokers is up to a second old, and then the next message follows within SLOW_S.
HEARD_MS = 4_000
SLOW_S = 3.0
CHANGES_MAX = 100  # in a message
# Beats or changes that take more are a gap.
MESSAGE_BYTES_MAX = 512 * 1024
RETRY_MS = 2000


class SharedNews:
    """What all readers get, made again when it is PERIOD_S old."""

    def __init__(self, source: ApiSource) -> None:
        self._source = source
        self._making = asyncio.Lock()
        self._made_s = -math.inf
        self._status = self._beats = b""

    async def read(self) -> tuple[bytes, bytes]:
        """The messages of the status, and of heartbeats."""
        async with self._making:
            now_s = time.monotonic()
            if now_s - self._made_s >= PERIOD_S:
                try:
                    self._status = _message("status", await read_status(self._source))
                    self._beats = await self._heard()
                except Busy as error:
                    self._status, self._beats = _message("busy", {"error": str(error)}), b""
                self._made_s = now_s
        return self._status, self._beats

    async def _heard(self) -> bytes:
        since_ms = self._source.view.facts.now().epoch_ms - HEARD_MS
        rows = await self._source.view.copy(copy_brokers)
        beats = [(one.broker, one.id, one.last_heartbeat) for one in rows if (one.last_heartbeat or 0) > since_ms]
        return _message("beats", beats) if beats else b""


def _message(event: str, value: object) -> bytes:
    """JSON has no line ends, so it is one line of data."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), dumps(value))


def add_stream(app: web.Application, source: ApiSource) -> None:
    """Before the server starts."""
    app.router.add_get(PATH, partial(_stream, SharedNews(source), source.recent), allow_head=False)


async def _stream(shared: SharedNews, recent: Recent, request: web.Request) -> web.StreamResponse:
    open_stream(request)
    response, seen = web.StreamResponse(headers={"Content-Type": "text/event-stream"}), recent.last
    await response.prepare(request)
    status, _ = await shared.read()
    read_s = time.monotonic()
    await response.write(b"retry: %d\n\n" % RETRY_MS + status)
    while True:
        await asyncio.sleep(PERIOD_S)
        status, news = await shared.read()
        before_s, read_s = read_s, time.monotonic()
        before, seen = seen, recent.last
        changes = [worded(one) for one in recent.events.copy() if before < one.seq <= seen]
        news += _message("changes", changes[:CHANGES_MAX]) if changes else b""
        is_gap = read_s - before_s > SLOW_S or len(changes) > CHANGES_MAX or len(news) > MESSAGE_BYTES_MAX
        await response.write(status + (_message("gap", {}) if is_gap else news))
