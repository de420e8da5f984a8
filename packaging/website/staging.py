"""Writes the pages of one language where MkDocs reads them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from website.links import anchor_of, rewritten
from website.lists import deepened
from website.pages import IMAGES, Pages

SYNTAX = {".yml": "yaml", ".json": "json"}
# "## Heading {#name}", which only a program of this repository reads.
NAMED = re.compile(r"^(?P<marks>#{1,6} +)(?P<heading>.*?) *(?P<name>\{#[\w-]+\})$", re.M)
TITLE = re.compile(r"^# .*\n", re.M)


def stage(pages: Pages, folder: Path) -> None:
    """All pages and images."""
    for name, source in pages.sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(IMAGES):
            shutil.copyfile(pages.root / source, path)
        else:
            path.write_text(page(pages, name), "utf-8")


def page(pages: Pages, name: str) -> str:
    """The Markdown of a page. A file that is none is shown as it is, with its path as title."""
    source, text = pages.sources[name], pages.text(name)
    if not source.endswith(".md"):
        return f"# {source}\n\n````{SYNTAX.get(Path(source).suffix, 'text')}\n{text.rstrip()}\n````\n"
    text = NAMED.sub(github_anchor, rewritten(pages, name, deepened(text)))
    return noted(text, pages.language.note) if pages.untranslated(name) and pages.language.note else text


def github_anchor(match: re.Match[str]) -> str:
    """The heading without its name, with the anchor that links to it on GitHub."""
    anchor = anchor_of(f"{match['heading']} {match['name']}")
    return f"{match['marks']}{match['heading']} {{#{anchor}}}"


def noted(text: str, note: str) -> str:
    """A note below the title."""
    return TITLE.sub(lambda title: f'{title[0]}\n!!! note ""\n\n    {note}\n\n', text, count=1)
