"""All Chinese texts: pages, and the messages of the catalogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import read_po

from tests.check.documents.chinese.glossary import PAGE, faults, terms

CATALOGUES = "rocketns/languages/locale/zh_CN/LC_MESSAGES"
README = "README.zh-CN.md"


def pages(root: Path) -> list[Path]:
    """The glossary alone may name the words that are not used."""
    found = [root / README, *sorted((root / "docs/zh").glob("**/*.md"))]
    return [page for page in found if page.is_file() and page != root / PAGE]


def wrong(root: Path) -> Iterator[str]:
    """``file:line: what is wrong`` for each page and each message."""
    glossary = terms(root)
    for page in pages(root):
        for line, reason in faults(page.read_text("utf-8"), glossary):
            yield f"{page.relative_to(root).as_posix()}:{line}: {reason}"
    for name, line, message in messages(root):
        yield from (f"{name}:{line}: {reason}" for _, reason in faults(message, glossary, prose=False))


def messages(root: Path) -> Iterator[tuple[str, int, str]]:
    """File, line and Chinese text of each message."""
    for file in sorted((root / CATALOGUES).glob("*.po")):
        yield from ((file.relative_to(root).as_posix(), line, text) for line, text in _texts(file))


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    with file.open("rb") as opened:
        for message in read_po(opened):
            if message.id:
                texts = message.string if isinstance(message.string, tuple | list) else (message.string,)
                yield from ((message.lineno or 1, text) for text in texts if text)
