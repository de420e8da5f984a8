"""Lists as Python-Markdown reads them.

GitHub follows CommonMark, where the content of an item is as deep as its first word. Python-Markdown, on which MkDocs
is built, wants four columns for each level, and an empty line before a list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

STEP = 4
MARKER = re.compile(r"^(?P<before> *)(?P<marker>[-*+]|\d+[.)])(?P<blanks> +)(?P<rest>.*)$")
PARSER = MarkdownIt("commonmark").enable("table")


def deepened(text: str) -> str:
    """The same document with items that are STEP columns deep."""
    lines = text.split("\n")
    tokens = PARSER.parse(text)
    items = [token.map for token in tokens if token.type == "list_item_open" and token.map]
    made = [line_in(lines, number, items) for number in range(len(lines))]
    before = {*starts(tokens), *after_blocks(lines, items)}
    for start in sorted({start for start in before if start and lines[start - 1].strip()}, reverse=True):
        made.insert(start, "")
    return "\n".join(made)


def starts(tokens: Sequence[Token]) -> list[int]:
    """The first lines of lists that are in no other list."""
    opens = ("bullet_list_open", "ordered_list_open")
    return [token.map[0] for token in tokens if token.type in opens and token.level == 0 and token.map]


def after_blocks(lines: Sequence[str], items: Sequence[Sequence[int]]) -> list[int]:
    """The first lines of items whose neighbour above has several blocks: they would go on with its last one."""
    several = {end for start, end in items if not all(line.strip() for line in lines[start : end - 1])}
    return [start for start, _ in items if start in several]


def line_in(lines: Sequence[str], number: int, items: Sequence[Sequence[int]]) -> str:
    """A line, by the items around it."""
    line = lines[number]
    around = [item for item in items if item[0] <= number < item[1]]
    if not around or not line.strip():
        return line
    if around[-1][0] == number and (match := MARKER.match(line)):
        return " " * (STEP * (len(around) - 1)) + match["marker"].ljust(STEP) + match["rest"]
    return " " * (STEP * len(around)) + cut(line, content_column(lines[around[-1][0]]))


def content_column(first: str) -> int:
    """Where the content of an item starts."""
    match = MARKER.match(first)
    return match.start("rest") if match else 0


def cut(line: str, column: int) -> str:
    """The line from a column on; a lazy one, which starts before it, without its blanks."""
    return line[column:] if not line[:column].strip() else line.lstrip()
