"""What is true of every answer of the management port: its headers, its errors, its time; and answers without end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from rocketns.admin.gate import STREAMS_MAX, Gate
from rocketns.admin.hosts import Hosts
from rocketns.admin.view import Busy, View

log = logging.getLogger("rocketns.admin")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

VIEW = web.AppKey("view", View)
GATE = web.AppKey("gate", Gate)
HOSTS = web.AppKey("hosts", Hosts)

READS = frozenset(("GET", "HEAD", "OPTIONS"))
CHANGE_HEADER = "X-Rocketns-Change"

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}


def open_stream(request: web.Request) -> None:
    """The answer to this request has no end. HTTPServiceUnavailable if there is no room for it: see `Gate.has_room`."""
    gate = request.app[GATE]
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
    guard = request.app[GATE].of(request.transport)
    try:
        request.app[HOSTS].check(request)
        _check_change(request)
        return await handler(request)
    except Busy as error:
        return web.Response(status=503, text=f"{error}\n", headers={"Retry-After": "5"})
    except web.HTTPException as error:
        return _as_answer(error)
    except asyncio.CancelledError:
        raise
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


def _as_answer(error: web.HTTPException) -> web.Response:
    """The same answer without the exception, whose traceback would keep the connection until a garbage collection."""
    error.__traceback__ = None
    return web.Response(status=error.status, reason=error.reason, body=error.body, headers=error.headers)


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """A signal of aiohttp: a handler may set any of these headers itself."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "rocketns"  # not the versions of Python and aiohttp
