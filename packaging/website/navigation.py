"""The order of the pages, from navigation.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from website.pages import IMAGES, Pages

FILE = Path(__file__).parent / "navigation.toml"
Entry = str | dict[str, Any]


class NotNamed(ValueError):
    """A page of docs/ that navigation.toml does not have, or a name there that is no page."""


def navigation(pages: Pages) -> list[Entry]:
    """What MkDocs takes as `nav`. Titles are those of the pages."""
    check(pages, named())
    rest = sorted(name for name in pages.sources if name not in ("index.md", *named()) and not name.endswith(IMAGES))
    made: list[Entry] = ["index.md"]
    for group in groups():
        listed = rest if group.get("rest") else [f"{name}.md" for name in group["pages"]]
        made.append({group[pages.language.folder]: [name for name in listed if name in pages.sources]})
    return made


def groups() -> list[dict[str, Any]]:
    """The groups as they stand in the file."""
    found: list[dict[str, Any]] = tomllib.loads(FILE.read_text("utf-8"))["group"]
    return found


def named() -> list[str]:
    """All pages that it names."""
    return [f"{name}.md" for group in groups() for name in group.get("pages", ())]


def check(pages: Pages, known: list[str]) -> None:
    """NotNamed with the next step."""
    own = {name for name, source in pages.sources.items() if source.startswith("docs/") and source.endswith(".md")}
    if missing := sorted(own - set(known)):
        raise NotNamed(f"Next step: name {', '.join(missing)} in {FILE.name}, in the group where readers look for it")
