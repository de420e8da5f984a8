"""Which files of the repository are pages of the site, and under which names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from website.languages import CHINESE, ENGLISH, Language

LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
OUTSIDE = ("http://", "https://", "mailto:")
# README is the first page in each language.
RENAMED = {ENGLISH.readme: "index.md", CHINESE.readme: "index.md", "docs/zh/index.md": "documents.md"}
IMAGES = (".png", ".svg", ".jpg", ".gif")


@dataclass
class Pages:
    """``sources``: name in the site -> path in the repository, both with forward slashes."""

    root: Path
    language: Language
    sources: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return (self.root / self.sources[name]).read_text("utf-8")

    def untranslated(self, name: str) -> bool:
        """Whether the page is one that this language lacks."""
        return language_of(self.sources[name]) not in (None, self.language)


def collected(root: Path, language: Language) -> Pages:
    """README, docs/, and all that these link to, directly or not. A page of this language replaces the English one."""
    made = Pages(root, language)
    for one in dict.fromkeys((ENGLISH, language)):
        readme = [one.readme] if (root / one.readme).exists() else []
        own = [*readme, *markdown(root, one)]
        made.sources |= {site_name(path): path for path in own}
        follow(made, own)
    return made


def follow(pages: Pages, waiting: list[str]) -> None:
    """Add the files that these lead to, and their own."""
    while waiting:
        for target in linked(pages.root, waiting.pop()):
            if site_name(target) not in pages.sources:
                pages.sources[site_name(target)] = target
                waiting.append(target)


def markdown(root: Path, language: Language) -> list[str]:
    """The Markdown files below docs/ that are in this language."""
    paths = [path.relative_to(root).as_posix() for path in sorted((root / language.docs).rglob("*.md"))]
    return [path for path in paths if language_of(path) is language]


def linked(root: Path, source: str) -> Iterator[str]:
    """The files of the repository that a Markdown file links to, unless they are in one language and it is not."""
    if not source.endswith(".md"):
        return
    for match in LINK.finditer((root / source).read_text("utf-8")):
        found = resolved(source, match["target"])
        if found and (root / found).is_file() and language_of(found) is None:
            yield found


def resolved(source: str, target: str) -> str:
    """The path in the repository that a link means; empty for what is elsewhere, or on the same page."""
    path = target.partition("#")[0]
    if not path or target.startswith(OUTSIDE):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def site_name(path: str) -> str:
    """The name of a page, by its path in the repository."""
    if path in RENAMED:
        return RENAMED[path]
    for language in (CHINESE, ENGLISH):
        if path.startswith(f"{language.docs}/"):
            return path.removeprefix(f"{language.docs}/")
    return path if path.endswith((".md", *IMAGES)) else f"{path}.md"


def language_of(path: str) -> Language | None:
    """The language of a page, by its place; None for what both languages show."""
    for language in (CHINESE, ENGLISH):
        if path == language.readme or (path.startswith(f"{language.docs}/") and path.endswith(".md")):
            return language
    return None
