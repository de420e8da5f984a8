"""MkDocs calls these: the language switch of each page, and links to the other language."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from website.chinese import joined

# Material's script asks for a list of pages beside each of these pages, where none is. The switch does without it.
ALTERNATE = re.compile(r'\s*<link rel="alternate" href="[^"]*" hreflang="[^"]*">')
# An option or a name. A browser would break it at its hyphens, and does not break between a full stop and a hyphen.
SHORT = re.compile(r"<code>([^<\n]{1,24})</code>")
STOPPED = re.compile(r'(?<=[、，；：。）])(?=<code class="short">)')
ACROSS = re.compile(r'href="https://across\.invalid/([^"]*)"')


def on_page_context(context: dict[str, Any], page: Any, config: Any, **_: Any) -> dict[str, Any]:
    """The switch stays on the page: the other language has a page of the same name, or else its first page."""
    other = config.extra["other"]
    name = page.file.dest_uri
    there = name if name in other["pages"] else "index.html"
    config.extra["alternate"] = [
        {"name": config.extra["language"], "link": name, "lang": config.theme["language"]},
        {"name": other["name"], "link": f"{other['root']}/{there}", "lang": other["folder"]},
    ]
    return context


def on_page_content(html: str, page: Any, config: Any, **_: Any) -> str:
    """Links to the other language are relative. Chinese has no spaces at the ends of lines, names stay in one piece."""
    up = posixpath.relpath(".", posixpath.dirname(page.file.dest_uri) or ".")
    html = ACROSS.sub(lambda match: f'href="{up}/{config.extra["other"]["root"]}/{match[1]}"', html)
    return STOPPED.sub("<wbr>", SHORT.sub(r'<code class="short">\1</code>', joined(html)))


def on_post_page(output: str, **_: Any) -> str:
    """Without the links by which Material's script looks for the other language."""
    return ALTERNATE.sub("", output)
