"""``/api/v1``: what the name server knows, as JSON. `tables` declares what there is; `openapi` describes it."""

from __future__ import annotations

from aiohttp import web

from rocketns.admin.api.handlers import PATHS, add_handlers
from rocketns.admin.api.history import History
from rocketns.admin.api.tables import Source
from rocketns.admin.recent import Growing, Recent, Wiped
from rocketns.admin.view import View

__all__ = ["PATHS", "SOURCE", "add"]

SOURCE = web.AppKey("source", Source)


def add(app: web.Application, view: View) -> None:
    """Control only."""
    recent = Recent(view.facts.tables.broker_live_table)
    view.facts.watch(recent.watch)
    view.facts.tell_clients()
    history = History(view, recent)
    app.cleanup_ctx.append(history.follow)
    app[SOURCE] = Source(view, recent, Wiped(view, recent), Growing(), history)
    add_handlers(app, app[SOURCE])
