"""What the management port serves: the list of its features.

To add one: write a module with a function ``add(app, view)`` and its ``PATHS``, and add both to FEATURES. Each path
needs a class in `rocketns/admin/tokens/classes.py`: without one this module cannot be imported.

* ``app.router.add_get("/path", handler)`` adds a handler: ``async def handler(request) -> web.StreamResponse``.
  It runs on the loop of the management port. It has ``view`` from the closure, or as ``request.app[VIEW]``.
* Data comes from ``view`` only: see `rocketns/admin/view.py` for the three ways. `Busy` becomes 503, any other
  unforeseen error 500 and a line in the log.
* A handler that runs long without waiting holds the GIL, and control waits for it: give up the loop every few
  milliseconds (``await asyncio.sleep(0)``), and encode large answers by orjson, in pages.
* An answer without end, such as server-sent events, first calls ``open_stream(request)`` of
  `rocketns/admin/answers.py`. At most STREAMS_MAX of them are open: see `Gate.has_room`.
* A task of its own: ``app.cleanup_ctx.append(…)`` as aiohttp's documentation says. It runs on this loop.
* What control must note as it happens: ``view.facts.watch(…)`` in ``add``, which is called on control's
  thread before the server starts. It is called on control's thread and must take microseconds.
* No handler changes anything. The drain is the only exception. A request other than GET and HEAD needs CHANGE_HEADER.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from aiohttp import web

from rocketns.admin import api, page, probes
from rocketns.admin.metrics import exposition
from rocketns.admin.tokens import classes
from rocketns.admin.view import View


class Feature(NamedTuple):
    """``paths``: all that ``add`` adds."""

    add: Callable[[web.Application, View], None]
    paths: tuple[str, ...]


FEATURES: tuple[Feature, ...] = (
    Feature(probes.add, probes.PATHS),
    Feature(exposition.add, exposition.PATHS),
    Feature(api.add, api.PATHS),
    Feature(page.add, page.PATHS),
)
for feature in FEATURES:
    classes.check(feature.paths)


def add_features(app: web.Application, view: View) -> None:
    """Control only. UnclassedPath if a feature adds a path that it does not name."""
    for one in FEATURES:
        one.add(app, view)
    classes.check(resource.canonical for resource in app.router.resources())
