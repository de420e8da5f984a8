"""The files of the page: read once at the start, and answered from memory under their own names only."""

from __future__ import annotations

from functools import partial
from importlib.resources import files

from aiohttp import web

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
# No script and no style in the page itself, nothing from anywhere else, and no text that becomes markup.
POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
])  # fmt: skip
FILES = {
    "/" if file.name == "index.html" else f"/page/{file.name}": file
    for file in files(__package__).joinpath("static").iterdir()
}


def add_files(app: web.Application) -> None:
    """Before the server starts."""
    for path, file in FILES.items():
        app.router.add_get(path, partial(_file, file.read_bytes(), TYPES[file.name.rpartition(".")[2]]))


async def _file(content: bytes, content_type: str, _: web.Request) -> web.Response:
    return web.Response(body=content, content_type=content_type, charset="utf-8",
                        headers={"Content-Security-Policy": POLICY})  # fmt: skip
