"""What a Chinese page lacks, or has too much, beside the English one: found by what does not depend on a language.

Prose cannot be compared. Headings, commands, inline code, figures, links, rows of tables and items of lists can: a page
of limits that is held to the code in English is so held to it in Chinese, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.check.documents.chinese.markdown import Section, sections
from tests.check.documents.chinese.targets import expected, twins

SHOWN_MAX = 160
# Pages that are in Chinese only.
OWN = ("index.md", "glossary.md")


def differences(root: Path) -> Iterator[str]:
    """``page:line: heading: what is missing`` for each pair of pages."""
    for english, chinese in twins(root):
        yield from compared(root, english, chinese)


def compared(root: Path, english: Path, chinese: Path) -> Iterator[str]:
    """Sections are paired by their order; with other levels only the headings are named."""
    here, there = (sections(page.read_text("utf-8")) for page in (english, chinese))
    name = chinese.relative_to(root).as_posix()
    if reason := _headings(here, there):
        yield f"{name}:{reason}"
        return
    for one, other in zip(here, there, strict=True):
        wanted = [expected(root, english, chinese, target) for target in one.links]
        for reason in _section(one, other, wanted):
            yield f"{name}:{other.line}: {other.heading or 'top'} ({one.heading or 'top'}): {reason}"


def _headings(here: list[Section], there: list[Section]) -> str:
    for one, other in zip(here, there, strict=False):
        if one.level != other.level:
            return f"{other.line}: {'#' * other.level} {other.heading}: expected {'#' * one.level} for {one.heading}"
    if len(here) > len(there):
        return f"{there[-1].line}: no heading for {here[len(there)].heading}"
    if len(there) > len(here):
        return f"{there[len(here)].line}: {there[len(here)].heading}: no such heading in English"
    return ""


def _section(one: Section, other: Section, wanted: list[str]) -> Iterator[str]:
    yield from _counted("command", Counter(one.blocks), Counter(other.blocks))
    yield from _counted("inline code", Counter(list(one.spans)), Counter(list(other.spans)))
    yield from _counted("figure", one.figures, other.figures)
    links = [link for link in other.links if link in wanted or not link.endswith(OWN)]
    yield from _counted("link", Counter(set(wanted)), Counter(set(links)))
    if one.rows != other.rows:
        yield f"tables have {_table(other)}, in English {_table(one)}"
    if one.items != other.items:
        yield f"{other.items} items of lists, in English {one.items}"


def _table(section: Section) -> str:
    return f"{len(section.rows)} rows of {sorted(set(section.rows))} cells"


def _counted(what: str, english: Counter[str], chinese: Counter[str]) -> Iterator[str]:
    for reason, items in (("missing", english - chinese), ("not in English", chinese - english)):
        for item in items:
            yield f"{what} {reason}: {item[:SHOWN_MAX]}"
