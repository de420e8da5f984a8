"""The status page at ``/``, and the stream that keeps it up to date.

Its files are read once at the start, and answered from memory under their own names only.
"""

from __future__ import annotations

from functools import partial
from importlib.resources import files

from aiohttp import web

from rocketns.admin.api.handlers import SOURCE
from rocketns.admin.page import stream
from rocketns.admin.view import ControlView
from rocketns.languages import CATALOGUES
from rocketns.languages.texts import ENGLISH, LANGUAGES

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
# No script and no style in the page itself, nothing from anywhere else, and no text that becomes markup.
POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
])  # fmt: skip
PAGE = "index.html"
STATIC = [*files(__package__).joinpath("static").iterdir(), files("rocketns").joinpath("style.css")]
FILES = {f"/page/{file.name}": file for file in STATIC if file.name != PAGE}
# The page's script says all texts, by the language of the document. These are its Chinese ones: without a build none.
CHINESE = "/page/zh.json"

# Browsers send about five. A header has 8 KiB at most.
RANGES_MAX = 50


def add(app: web.Application, _: ControlView) -> None:
    """Control only, after the API, before the server starts."""
    stream.add_stream(app, app[SOURCE])
    for path, file in FILES.items():
        app.router.add_get(path, partial(_file, file.read_bytes(), TYPES[file.name.rpartition(".")[2]]))
    made = CATALOGUES / LANGUAGES["zh"] / "LC_MESSAGES" / "page.json"
    app.router.add_get(CHINESE, partial(_file, made.read_bytes() if made.is_file() else b"{}", "application/json"))
    english = files(__package__).joinpath("static", PAGE).read_bytes()
    pages = {"en": english, "zh": english.replace(b'<html lang="en">', b'<html lang="zh-CN">', 1)}
    app.router.add_get("/", partial(_page, pages))


async def _page(pages: dict[str, bytes], request: web.Request) -> web.Response:
    language = chosen(request.query.get("lang"), request.headers.get("Accept-Language", ""))
    answer = await _file(pages[language], TYPES["html"], request)
    answer.headers["Vary"] = "Accept-Language"
    return answer


async def _file(content: bytes, content_type: str, _: web.Request) -> web.Response:
    return web.Response(body=content, content_type=content_type, charset="utf-8",
                        headers={"Content-Security-Policy": POLICY})  # fmt: skip


def chosen(asked: str | None, accepted: str) -> str:
    """One of LANGUAGES: the parameter ``lang``, or the first known one of Accept-Language, where browsers name the
    preferred one first.
    """
    if asked in LANGUAGES:
        return asked
    ranges = (one.partition(";") for one in accepted.split(",")[:RANGES_MAX])
    named = (tag.strip().lower().partition("-")[0] for tag, _, weight in ranges if weight.strip() != "q=0")
    return next((one for one in named if one in LANGUAGES), ENGLISH)
