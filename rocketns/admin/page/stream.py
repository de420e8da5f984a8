"""``/api/v1/stream``: server-sent events, a message a second for all readers together.

* ``status``: what ``/api/v1/status`` answers.
* ``beats``: ``[[group, id, time], …]``, the brokers that were heard since the last message.
* ``changes``: the new rows of ``/api/v1/events``.
* ``gap``: this reader was too slow, or more happened than is kept or sent. It should read everything again.

The message is made once, whatever the number of readers, and only while there are any. A reader that is more than
KEPT_MAX messages behind gets a gap; one that takes nothing at all is closed by the gate.
"""

from __future__ import annotations

import asyncio
from collections import deque

from aiohttp import web

from rocketns.admin.answers import open_stream
from rocketns.admin.api.copies import copy_brokers
from rocketns.admin.api.handlers import ROOT
from rocketns.admin.api.paging import dumps
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import ApiSource
from rocketns.admin.recent import worded
from rocketns.admin.view import Busy, repeat

PATH = f"{ROOT}/stream"
PERIOD_S = 1.0
KEPT_MAX = 8
CHANGES_MAX = 100  # in a message
# Beats or changes that take more are a gap.
MESSAGE_BYTES_MAX = 512 * 1024
RETRY_MS = 2000
# Between two heartbeats of a broker. Their times are of two clocks, each in whole ms.
BEAT_MS_MIN = 10


class Broadcast:
    """Makes the messages and keeps the last ones."""

    def __init__(self, source: ApiSource) -> None:
        self._source = source
        self._messages: deque[bytes] = deque(maxlen=KEPT_MAX)
        self._made = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._seen = 0
        self._heard: dict[tuple[str, int], int] = {}  # the last heartbeats, by group and id
        self.readers = 0
        self.number = 0  # of the last message

    def enter(self) -> None:
        """One more reader. The first one starts the messages."""
        self.readers += 1
        if self._task is None:
            self._seen, self._heard = self._source.recent.last, {}
            self._task = asyncio.get_running_loop().create_task(repeat(PERIOD_S, self._send))

    def leave(self) -> None:
        """One reader less. The last one ends the messages."""
        self.readers -= 1
        if not self.readers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def after(self, number: int) -> list[bytes]:
        """The messages after this one; a gap if they are not kept any more."""
        async with self._made:
            await self._made.wait_for(lambda: self.number > number)
        behind = self.number - number
        if behind > len(self._messages):
            return [_message("gap", {})]
        return list(self._messages)[-behind:]

    async def _send(self) -> None:
        message = await self._next()
        async with self._made:
            self.number += 1
            self._messages.append(message)
            self._made.notify_all()

    async def _next(self) -> bytes:
        try:
            message = _message("status", await read_status(self._source))
            beats = await self._new_beats()
        except Busy as error:
            return _message("busy", {"error": str(error)})
        recent = self._source.recent
        last, self._seen = self._seen, recent.last
        changes = [worded(one) for one in recent.events.copy() if last < one.seq <= self._seen]
        if len(changes) > CHANGES_MAX:
            return message + _message("gap", {})
        news = (_message("beats", beats) if beats else b"") + (_message("changes", changes) if changes else b"")
        return message + (news if len(news) <= MESSAGE_BYTES_MAX else _message("gap", {}))

    async def _new_beats(self) -> list[tuple[str, int, int]]:
        """Of brokers that were known and heard before. Others are changes."""
        rows = await self._source.view.copy(copy_brokers)
        before, self._heard = self._heard, {
            (row.broker, row.id): row.last_heartbeat for row in rows if row.last_heartbeat is not None
        }  # fmt: skip
        return [(*key, at) for key, at in self._heard.items() if at - before.get(key, at) >= BEAT_MS_MIN]


def _message(event: str, value: object) -> bytes:
    """JSON has no line ends, so it is one line of data."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), dumps(value))


def add_stream(app: web.Application, source: ApiSource) -> None:
    """Before the server starts."""
    broadcast = Broadcast(source)

    async def stream(request: web.Request) -> web.StreamResponse:
        open_stream(request)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        broadcast.enter()
        try:
            await response.prepare(request)
            number = broadcast.number
            await response.write(b"retry: %d\n\n" % RETRY_MS + _message("status", await read_status(source)))
            while True:
                messages, number = await broadcast.after(number), broadcast.number
                await response.write(b"".join(messages))
        finally:
            broadcast.leave()

    app.router.add_get(PATH, stream, allow_head=False)
