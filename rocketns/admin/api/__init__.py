"""``/api/v1``: what the name server knows, as JSON. `tables` declares what there is; `openapi` describes it."""

from __future__ import annotations

from aiohttp import web

from rocketns.admin.api.handlers import add_handlers
from rocketns.admin.api.history import LastHour
from rocketns.admin.api.tables import ApiSource
from rocketns.admin.recent import Recent, Wiped
from rocketns.admin.view import ControlView

SOURCE = web.AppKey("source", ApiSource)


def add(app: web.Application, view: ControlView) -> None:
    """Control only."""
    recent = Recent()
    view.facts.watch(recent.watch)
    view.facts.reactors.tell_clients()
    history = LastHour(view)
    app.cleanup_ctx.append(history.follow)
    app[SOURCE] = ApiSource(view, recent, Wiped(view, recent), history)
    add_handlers(app, app[SOURCE])
