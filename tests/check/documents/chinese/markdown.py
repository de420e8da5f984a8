"""A Markdown page cut into what two languages have in common: headings, code, links, tables, lists and figures."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from textwrap import dedent

HEADING = re.compile(r"^(#{1,6}) +(.+?) *$")
FENCE = re.compile(r"^ *```(\w*)")
OUTPUT = "text"  # a fence of this kind holds what a program prints, in the reader's language
OUTPUT_BLOCK = "(what a program prints)"
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIGURE = re.compile(r"\d+(?:[.,:-]\d+)*")
ITEM = re.compile(r"^ *(?:[-*]|\d{1,2}\.) +")
ROW = re.compile(r"^ *\|")
COMMENT = re.compile(r"(^|\s+)#\s.*$")
# The line below the title that leads to the other language.
SWITCH = re.compile(r"^.*\]\((\.\./)*[\w./-]*\).*$")
SWITCH_LABELS = ("[English](", "[简体中文](")
CODE_INDENT = 4


@dataclass
class Section:
    """What stands between two headings. ``line`` counts from 1."""

    line: int
    level: int
    heading: str
    blocks: list[str] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.prose)

    @property
    def spans(self) -> Counter[str]:
        """Inline code; a line break in it is one blank."""
        return Counter(" ".join(span.split()) for span in SPAN.findall(f"{self.heading}\n{self.text}"))

    @property
    def links(self) -> list[str]:
        return LINK.findall(SPAN.sub("``", self.text))

    @property
    def figures(self) -> Counter[str]:
        """Numbers outside of code, link targets and the numbers of list items."""
        text = LINK.sub("]", SPAN.sub(" ", "\n".join(ITEM.sub("", line) for line in self.prose)))
        return Counter(FIGURE.findall(f"{SPAN.sub(' ', self.heading)}\n{text}"))

    @property
    def rows(self) -> list[int]:
        """The number of cells of each row of the tables."""
        return [SPAN.sub("", line).strip().strip("|").count("|") + 1 for line in self.prose if ROW.match(line)]

    @property
    def items(self) -> int:
        return sum(bool(ITEM.match(line)) for line in self.prose)


def sections(text: str) -> list[Section]:
    """The first one has the level 0 and holds what stands before the first heading."""
    found, block, fenced, kind = [Section(1, 0, "")], [""], False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence := FENCE.match(line):
            fenced, kind = not fenced, fence[1]
            found[-1].blocks += [OUTPUT_BLOCK] if kind == OUTPUT else []
        elif fenced and kind == OUTPUT:
            continue
        elif fenced or (_indented(line) and (len(block) > 1 or not _last(found[-1]))):
            block.append(line)
            continue
        elif not line.strip() and len(block) > 1:
            block.append("")
            continue
        _close(found[-1], block)
        if match := HEADING.match(line):
            found.append(Section(number, len(match[1]), match[2]))
        elif not FENCE.match(line) and not _is_switch(line):
            found[-1].prose.append(line)
    _close(found[-1], block)
    return found


def _indented(line: str) -> bool:
    return len(line) - len(line.lstrip()) >= CODE_INDENT and bool(line.strip()) and not ROW.match(line)


def _last(section: Section) -> str:
    return section.prose[-1].strip() if section.prose else ""


def _is_switch(line: str) -> bool:
    return bool(SWITCH.match(line)) and any(label in line for label in SWITCH_LABELS)


def _close(section: Section, block: list[str]) -> None:
    """Comments of shells and of YAML may be in the reader's language."""
    lines = [COMMENT.sub("", line).rstrip() for line in dedent("\n".join(block)).splitlines()]
    if text := "\n".join(line for line in lines if line):
        section.blocks.append(text)
        section.prose.append("")
    block[:] = [""]
