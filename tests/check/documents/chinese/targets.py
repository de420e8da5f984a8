"""Where a link of a Chinese page leads: to the Chinese page and heading where there is one, else to the English one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.check.documents.chinese.markdown import LINK, sections
from tests.check.documents.documents import OUTSIDE

ENGLISH, CHINESE = "docs", "docs/zh"
README = ("README.md", "README.zh-CN.md")


def twins(root: Path) -> list[tuple[Path, Path]]:
    """English page, Chinese page: each Chinese page that has an English one of its name."""
    pages = [(root / ENGLISH / page.name, page) for page in sorted((root / CHINESE).glob("*.md"))]
    both = [(root / README[0], root / README[1]), *pages]
    return [(english, chinese) for english, chinese in both if english.is_file() and chinese.is_file()]


def expected(root: Path, english: Path, chinese: Path, target: str) -> str:
    """The target that the Chinese page has for a link of the English one."""
    if target.startswith(OUTSIDE):
        return target
    name, _, anchor = target.partition("#")
    file = (english.parent / name).resolve() if name else english.resolve()
    twin = {one.resolve(): other.resolve() for one, other in twins(root)}.get(file) or _picture(file)
    if twin and anchor:
        anchor = _anchor_of_twin(file, twin, anchor)
    there = "" if (twin or file) == chinese.resolve() else os.path.relpath(twin or file, chinese.parent.resolve())
    return f"{there}#{anchor}" if anchor else there


def _picture(file: Path) -> Path | None:
    """``page-zh.png`` beside ``page.png``."""
    twin = file.with_name(f"{file.stem}-zh{file.suffix}")
    return twin if twin.is_file() else None


def relinked(root: Path, english: Path, chinese: Path) -> str:
    """The Chinese page with links to English pages and headings led to Chinese ones that came since."""
    text = chinese.read_text("utf-8")
    for target in dict.fromkeys(LINK.findall(english.read_text("utf-8"))):
        now = expected(root, english, chinese, target)
        for before in _as_untranslated(english, chinese, target):
            text = text.replace(f"]({before})", f"]({now})")
    return text


def anchor(heading: str) -> str:
    """As GitHub names it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _as_untranslated(english: Path, chinese: Path, target: str) -> list[str]:
    """The same link while there was no Chinese page, or no Chinese heading."""
    name, hash_, anchor_ = target.partition("#")
    if target.startswith(OUTSIDE) or not name:
        return []
    there = os.path.relpath(english.parent.resolve() / name, chinese.parent.resolve())
    return [f"{there}{hash_}{anchor_}", target]


def _anchor_of_twin(file: Path, twin: Path, wanted: str) -> str:
    here, there = (sections(page.read_text("utf-8")) for page in (file, twin))
    for one, other in zip(here, there, strict=False):
        if one.level and anchor(one.heading) == wanted:
            return anchor(other.heading)
    return wanted
