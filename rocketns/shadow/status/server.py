"""The status port of a shadow, on the relay's loop: the page, the counts and the metrics.

It has the limits of the management port: connections, the time of each step, unsent bytes, turns of hosts.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import orjson
from aiohttp import web

from rocketns.addresses import with_port
from rocketns.admin.answers import GATE, HOSTS, Hosts, add_headers, watched
from rocketns.admin.gate import AdminGate
from rocketns.errors import StartupError
from rocketns.server.http.heads import FIELDS_MAX, HEAD_BYTES_MAX
from rocketns.shadow.counting.standing import Standing, verdict_on
from rocketns.shadow.status.metrics import Metrics
from rocketns.shadow.status.page import SCRIPT, STYLE, live_page

log = logging.getLogger("rocketns.shadow")

TEXT_AGE_S = 1.0
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Stand = Callable[[], Standing]


class StatusServer:
    """`start` and `stop` on the running loop. ``stand`` makes what is shown, when somebody asks."""

    def __init__(self, address: tuple[str, int], stand: Stand) -> None:
        self._host, self._port = address
        self._stand = stand
        self._gate = AdminGate()
        self._metrics = Metrics(stand)
        self._texts = Texts(time.monotonic)
        self._runner: web.AppRunner | None = None
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port if self._server is None else int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """StartupError if the address cannot be had."""
        app = web.Application(middlewares=[watched])
        app[GATE], app[HOSTS] = self._gate, Hosts([socket.gethostname(), self._host])
        app.router.add_get("/", self._page)
        app.router.add_get("/page.css", _text(STYLE, "text/css"))
        app.router.add_get("/page.js", _text(SCRIPT, "text/javascript"))
        app.router.add_get("/metrics", self._scrape)
        app.router.add_get("/api/counts", self._counts)
        app.on_response_prepare.append(add_headers)
        self._runner = web.AppRunner(
            app, handle_signals=False, access_log=None, handler_cancellation=True, shutdown_timeout=0.5,
            max_line_size=HEAD_BYTES_MAX, max_field_size=HEAD_BYTES_MAX, max_headers=FIELDS_MAX, lingering_time=0,
        )  # fmt: skip
        await self._runner.setup()
        await self._listen()
        self._gate.sweep()

    async def _listen(self) -> None:
        assert self._runner is not None
        handlers = self._runner.server
        assert handlers is not None
        make = self._gate.guarded(handlers)
        try:
            self._server = await asyncio.get_running_loop().create_server(make, self._host, self._port)
        except OSError as error:
            where = with_port(self._host, self._port)
            raise StartupError(f"the status port {where}: {error.strerror or error}") from error
        log.info("status: http://%s", with_port(self._host, self.port))

    async def stop(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        self._gate.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _page(self, _: web.Request) -> web.Response:
        text = self._texts.of("/", lambda: live_page(self._stand()).encode())
        return web.Response(body=text, content_type="text/html", charset="utf-8")

    async def _scrape(self, _: web.Request) -> web.Response:
        return web.Response(body=self._texts.of("/metrics", self._metrics.text), headers={"Content-Type": METRICS_TYPE})

    async def _counts(self, _: web.Request) -> web.Response:
        text = self._texts.of("/api/counts", lambda: orjson.dumps(plain(self._stand())))
        return web.Response(body=text, content_type="application/json")


class Texts:
    """Answers by path, given to all who ask within TEXT_AGE_S: the relay has the same loop."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._made: dict[str, tuple[float, bytes]] = {}

    def of(self, path: str, make: Callable[[], bytes]) -> bytes:
        """The text, made again if it is old."""
        made_s, text = self._made.get(path, (-TEXT_AGE_S, b""))
        now_s = self._now_s()
        if now_s - made_s >= TEXT_AGE_S:
            text = make()
            self._made[path] = now_s, text
        return text


def _text(content: str, content_type: str) -> Callable[[web.Request], Any]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=content, content_type=content_type)

    return answer


def plain(standing: Standing) -> dict[str, Any]:
    """The answer of `/api/counts`: columns are added, never renamed."""
    counts, found = standing.counts, verdict_on(standing)
    return {
        "verdict": found.sentence, "reasons": found.reasons, "mood": found.mood,
        "upstream": standing.upstream, "reference": standing.reference, "half": standing.half,
        "began_ms": standing.began_ms, "now_ms": standing.now_ms,
        "judged": counts.judged, "unwanted": counts.unwanted, "skipped": counts.skipped,
        "last_unwanted_ms": counts.different_ms,
        "requests": {name: {str(one): n for one, n in numbers.items() if n} for name, numbers in counts.by_request()},
        "listed": counts.listed, "clients": counts.clients, "releases": counts.releases, "relay": dict(standing.relay),
        "kept": [
            {"request": one.request, "outcome": one.outcome, "times": one.times, "at_ms": one.at_ms, "peer": one.peer,
             "client": one.client, "note": one.note, "differences": one.differences}
            for one in counts.samples
        ],
        "kept_more": counts.samples.more,
    }  # fmt: skip
