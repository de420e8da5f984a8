"""``/livez``, ``/readyz`` and ``/drainz``: what Kubernetes and load balancers ask.

* ``/livez``: control took a turn lately. If not, only a restart helps.
* ``/readyz``: listening, the routes are restored, ``needWaitForService`` is over, and no drain was asked for.
* ``/drainz``: POST begins the drain: clients that know GO_AWAY are asked to leave, all others are answered as before,
  and ``/readyz`` says no. DELETE ends it. Only the machine itself and the networks of ``adminDrainFrom`` may ask, with
  the header CHANGE_HEADER, and no browser. GET, which a link, an image or an httpGet hook sends, changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from aiohttp import web

from rocketns.addresses import literal
from rocketns.admin.answers import CHANGE_HEADER
from rocketns.admin.view import ControlView
from rocketns.config import AdminConfig
from rocketns.server.facts import Facts

log = logging.getLogger("rocketns.admin")

# A registration of the maximum of topics takes control seconds on a slow machine. What takes longer is no turn.
ALIVE_WITHIN_S = 10.0

HOW_TO_DRAIN = f"""\
POST begins a drain, DELETE ends it, both with the header {CHANGE_HEADER}: yes. GET does nothing, because a link or an
image of any web page sends GET. For a preStop hook, use exec instead of httpGet.
"""
BROWSERS_SEND = ("Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode")


def add(app: web.Application, view: ControlView) -> None:
    """Control only."""
    app.router.add_get("/livez", partial(_livez, view))
    app.router.add_get("/readyz", partial(_readyz, view))
    app.router.add_get("/drainz", _explain)
    for method, drains in (("POST", True), ("DELETE", False)):
        app.router.add_route(method, "/drainz", partial(_drainz, view, drains))


async def _livez(view: ControlView, _: web.Request) -> web.Response:
    if view.idle_s < ALIVE_WITHIN_S:
        return web.Response(text="alive\n")
    return web.Response(status=503, text=f"the control thread took no turn for {view.idle_s:.1f} s\n")


async def _readyz(view: ControlView, _: web.Request) -> web.Response:
    why = view.facts.why_not_ready()
    return web.Response(text="ready\n") if why is None else web.Response(status=503, text=f"not ready: {why}\n")


async def _explain(_: web.Request) -> web.Response:
    return web.Response(status=405, text=HOW_TO_DRAIN, headers={"Allow": "POST, DELETE"})


async def _drainz(view: ControlView, drains: bool, request: web.Request) -> web.Response:
    if not _may_drain(view.facts.configuration.admin, request):
        return web.Response(status=403, text="only this machine and rocketns.adminDrainFrom may ask for a drain\n")
    log.warning("%s asks for the %s of the drain", request.remote, "beginning" if drains else "end")
    await view.read(partial(_drain, drains))
    return web.Response(text="draining\n" if drains else "not draining\n")


def _drain(begins: bool, facts: Facts) -> Iterator[None]:
    facts.drain(begins=begins)
    yield


def _may_drain(config: AdminConfig, request: web.Request) -> bool:
    """A page in a browser on this machine could send the request too: it would have one of these headers, or a name
    as Host that `Hosts` refuses."""
    peer = literal(request.remote or "")
    if peer is None or any(name in request.headers for name in BROWSERS_SEND):
        return False
    return peer.is_loopback or any(peer in network for network in config.drain_networks)
