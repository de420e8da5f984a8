"""What is true of every answer of the management port: its headers, its errors, its time; and answers without end.

A page in a browser can have a name of its own that its owner suddenly points to this machine (DNS rebinding). The
browser then lets that page read the answers. Its requests have that name as Host, so a name that nobody gave this
server is answered 421. An address cannot be pointed elsewhere. A request without Host comes from no browser.

Probes and metrics are for every name: they name no topic, address or client, and a scraper in another container asks by
a name that this server does not know.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

from rocketns.addresses import literal
from rocketns.admin.view import Busy, ControlView
from rocketns.server.http.connections import STREAMS_MAX

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger("rocketns.admin")

LOCAL_NAMES = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))
OPEN = frozenset(("/metrics", "/livez", "/readyz"))
SHOWN_CHARACTERS_MAX = 100
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)]|([A-Za-z0-9._-]+))(?::[0-9]{0,5})?")
VIEW = web.AppKey("view", ControlView)
READS = frozenset(("GET", "HEAD", "OPTIONS"))
CHANGE_HEADER = "X-Rocketns-Change"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}


class Hosts:
    """The names of this server. One that begins with a dot stands for all names that end with it."""

    def __init__(self, names: Iterable[str]) -> None:
        plain = {_plain(name) for name in names}
        self._exact = LOCAL_NAMES | {name for name in plain if not name.startswith(".")}
        self._endings = tuple(name for name in plain if name.startswith("."))

    def check(self, request: web.Request) -> None:
        """HTTPMisdirectedRequest if the request is for another server, and not `OPEN`."""
        if request.path in OPEN:
            return
        for host in request.headers.getall("Host", ()):
            if not self.has(host):
                text = (f"this server does not answer under the name {host[:SHOWN_CHARACTERS_MAX]!r}: use its IP "
                        "address, or add the name to rocketns.adminHosts\n")  # fmt: skip
                raise web.HTTPMisdirectedRequest(text=text)

    def has(self, host: str) -> bool:
        """Whether a Host header, with or without a port, is an address or one of the names."""
        found = HOST.fullmatch(host)
        if found is None:
            return False
        name = _plain(found[1] or found[2])
        return name in self._exact or name.endswith(self._endings) or literal(name) is not None


def _plain(name: str) -> str:
    """Names are the same in capitals, and with a dot at their end."""
    return name.lower().removesuffix(".")


HOSTS = web.AppKey("hosts", Hosts)


def open_stream(request: web.Request) -> None:
    """The answer to this request has no end. HTTPServiceUnavailable without room for it: see `AdminGate.has_room`."""
    gate = request.app[VIEW].gate
    guard = gate.of(request.transport)
    if guard is None:
        return
    if not gate.has_room(guard):
        raise web.HTTPServiceUnavailable(text=f"{STREAMS_MAX} streams are open\n", headers={"Retry-After": "10"})
    guard.stream()


@web.middleware
async def watched(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Around every handler: the request is for this server, no web page sent it if it changes something, its time is
    watched, and errors become answers."""
    guard = request.app[VIEW].gate.of(request.transport)
    try:
        request.app[HOSTS].check(request)
        _check_change(request)
        return await handler(request)
    except Busy as error:
        return web.Response(status=503, text=f"{error}\n", headers={"Retry-After": "5"})
    except web.HTTPException as error:
        # Without the exception, whose traceback would keep the connection until a garbage collection.
        error.__traceback__ = None
        return web.Response(status=error.status, reason=error.reason, body=error.body, headers=error.headers)
    except ConnectionError as error:  # the peer has gone, so nobody gets this answer
        error.__traceback__ = None
        return web.Response(status=503)
    except Exception:
        log.exception("management port: %s failed", request.rel_url.raw_path)
        return web.Response(status=500, text="internal error: see the server's log\n")
    finally:
        if guard is not None:
            guard.finish()


def _check_change(request: web.Request) -> None:
    """HTTPForbidden if the request would change something and lacks CHANGE_HEADER.

    A browser asks first whether it may send such a header to another origin (CORS), and is never answered yes.
    """
    may_read = request.method in READS or request.match_info.http_exception is not None
    if not may_read and CHANGE_HEADER not in request.headers:
        raise web.HTTPForbidden(text=f"a request that changes something needs the header {CHANGE_HEADER}: yes\n")


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """A signal of aiohttp: a handler may set any of these headers itself."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "rocketns"  # not the versions of Python and aiohttp
