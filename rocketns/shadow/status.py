"""The status port of a shadow, on the relay's loop: the page, the counts and the metrics over HTTP. It changes nothing.

It needs no package that `rocketns shadow` does not need: one request for each connection, read with bounds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import NamedTuple

import orjson

from rocketns.addresses import with_port
from rocketns.errors import StartupError
from rocketns.server.http.heads import END, HEAD_BYTES_MAX, refusal, refused
from rocketns.shadow.page import SCRIPT, STYLE, live_page
from rocketns.shadow.pairs import UNWANTED, Outcome
from rocketns.shadow.summary import Comparison, verdict_on

log = logging.getLogger("rocketns.shadow")

CONNECTIONS_MAX = 64
# From its beginning to the end of a connection.
CONNECTION_S = 5.0
# A text is sent to all who ask within this time: it is made on the relay's loop.
TEXT_AGE_S = 1.0
OK = (
    b"HTTP/1.1 200 OK\r\nServer: rocketns\r\nConnection: close\r\n"
    b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    b"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'\r\n"
)
_HOST = re.compile(rb"(?im)^host:[ \t]*(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{0,5})?[ \t]*\r$")
_MISDIRECTED = "this port answers under its IP address, or under the name that --status has"

# The labels' values, and the number.
Sample = tuple[tuple[str, ...], float]


class ShadowMetric(NamedTuple):
    """docs/monitoring.md is made from these too. ``labels`` have what their values are: never a text of a peer."""

    name: str
    kind: str
    meaning: str
    read: Callable[[Comparison], Iterable[Sample]]
    labels: Mapping[str, str] = {}


METRICS = (
    ShadowMetric("rocketns_shadow_pairs_total", "counter", "Pairs of answers by request and outcome.",
                 lambda comparison: comparison.counts.outcomes.items(),
                 {"code": "the request code by Java's name; `unknown` for codes that a name server does not know",
                  "outcome": ", ".join(f"`{one}`" for one in Outcome) + ": see docs/shadow.md"}),
    ShadowMetric("rocketns_shadow_unwanted_total", "counter", "Pairs that differ, or of which an answer is late or "
                 "missing: 0 where rocketns answers alike. An alert needs no more than this.",
                 lambda comparison: [((one,), comparison.counts.of(one)) for one in sorted(UNWANTED)],
                 {"outcome": ", ".join(f"`{one}`" for one in sorted(UNWANTED))}),
    ShadowMetric("rocketns_shadow_skipped_total", "counter", "Pairs that were not compared: no room, or no half.",
                 lambda comparison: [((), comparison.skipped)]),
    ShadowMetric("rocketns_shadow_half_up", "gauge", "1 while rocketns' own half runs; 0: nothing is compared.",
                 lambda comparison: [((), comparison.settles_in_s is not None)]),
)  # fmt: skip


class StatusPort:
    """`start` and `stop` on the running loop. ``stand`` makes what is shown, when somebody asks."""

    def __init__(self, address: tuple[str, int], stand: Callable[[], Comparison]) -> None:
        self._host, self._port = address
        self._stand = stand
        self._made: dict[str, tuple[float, bytes]] = {}
        self._open = 0
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port if self._server is None else int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """StartupError if the address cannot be had."""
        try:
            self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=HEAD_BYTES_MAX)
        except OSError as error:
            where = with_port(self._host, self._port)
            raise StartupError(f"the status port {where}: {error.strerror or error}") from error
        log.info("status: http://%s", with_port(self._host, self.port))

    def stop(self) -> None:
        """Accept no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        self._open += 1
        try:
            async with asyncio.timeout(CONNECTION_S):
                writer.write(self._answer(await reader.readuntil(END)))
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError, asyncio.LimitOverrunError):
            writer.transport.abort()
        finally:
            self._open -= 1

    def _answer(self, head: bytes) -> bytes:
        status = refusal(head)
        if status is not None:
            return refused(status)
        method, target, _ = head.split(b" ", 2)
        path = target.partition(b"?")[0].decode("ascii")
        if method not in (b"GET", b"HEAD"):
            return refused(HTTPStatus.METHOD_NOT_ALLOWED, "nothing can be changed here", b"Allow: GET, HEAD\r\n")
        if path != "/metrics" and not self._is_allowed(head):
            return refused(HTTPStatus.MISDIRECTED_REQUEST, _MISDIRECTED)
        if path not in _PAGES:
            return refused(HTTPStatus.NOT_FOUND, "there is no such page")
        kind, make = _PAGES[path]
        made_s, text = self._made.get(path, (-TEXT_AGE_S, b""))
        if time.monotonic() - made_s >= TEXT_AGE_S:
            text = make(self._stand())
            self._made[path] = time.monotonic(), text
        length = b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind.encode(), len(text))
        return OK + length + (b"" if method == b"HEAD" else text)

    def _is_allowed(self, head: bytes) -> bool:
        """Whether it is asked by an address or a name of its own: a page of another site may have a name that its
        owner points to this machine (DNS rebinding). No browser leaves the name out."""
        if b"\nhost:" not in head.lower():
            return True
        found = _HOST.search(head)
        if found is None:
            return False
        name = (found[1] or found[2]).decode("ascii").lower().removesuffix(".")
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return name in ("localhost", socket.gethostname().lower(), self._host.lower())


def metrics_text(comparison: Comparison) -> bytes:
    """In Prometheus' text format."""
    lines = []
    for one in METRICS:
        lines += [f"# HELP {one.name} {one.meaning}", f"# TYPE {one.name} {one.kind}"]
        for values, number in one.read(comparison):
            labels = ",".join(f'{name}="{value}"' for name, value in zip(one.labels, values, strict=True))
            lines.append(f"{one.name}{{{labels}}} {float(number)}" if labels else f"{one.name} {float(number)}")
    return "\n".join([*lines, ""]).encode()


def counts_json(comparison: Comparison) -> bytes:
    """The answer of `/api/counts`: members are added, never renamed. ``settles_in_s`` is null while no half runs."""
    counts = comparison.counts
    return orjson.dumps({
        "mood": verdict_on(comparison).mood, "upstream": comparison.upstream,
        "settles_in_s": comparison.settles_in_s, "trouble": comparison.trouble,
        "began_ms": comparison.began_ms, "now_ms": comparison.now_ms,
        "judged": counts.judged, "unwanted": counts.unwanted, "skipped": comparison.skipped,
        "first_unwanted_ms": counts.first_ms, "last_unwanted_ms": counts.last_ms,
        "requests": {name: {str(one): n for one, n in numbers.items() if n} for name, numbers in counts.by_request()},
        "listed": counts.listed, "clients": counts.clients, "relay": dict(comparison.relay),
    })  # fmt: skip


Made = Callable[[Comparison], bytes]
_PAGES: dict[str, tuple[str, Made]] = {
    "/": ("text/html; charset=utf-8", lambda comparison: live_page(comparison).encode()),
    "/page.css": ("text/css", lambda _: STYLE.encode()),
    "/page.js": ("text/javascript", lambda _: SCRIPT.encode()),
    "/metrics": ("text/plain; version=0.0.4; charset=utf-8", metrics_text),
    "/api/counts": ("application/json", counts_json),
}
