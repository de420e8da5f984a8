"""The status page at ``/``, and the stream that keeps it up to date."""

from __future__ import annotations

from aiohttp import web

from rocketns.admin.api import SOURCE
from rocketns.admin.page import stream
from rocketns.admin.page.files import PATHS as FILES
from rocketns.admin.page.files import add_files
from rocketns.admin.view import ControlView

PATHS = (*FILES, stream.PATH)


def add(app: web.Application, _: ControlView) -> None:
    """Control only, after the API."""
    add_files(app)
    stream.add_stream(app, app[SOURCE])
