"""The texts of a parser as nodes of docutils: prose, lists of names with meanings, and lines to type."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from docutils import nodes

# "  name  meaning", or "  0 meaning" of an exit status.
ENTRY = re.compile(r"^ {2}(?! )(?P<term>\S.*?)(?: {2,}|(?<=^ {2}\d) |(?<=^ {2}\d\d) )(?P<meaning>\S.*)$")
HEADING = re.compile(r"^(?P<title>[A-Z].*):$")
BETWEEN_STATUSES = re.compile(r" {3,}(?=\d+ )")
POINTER = re.compile(r"^To .*--help$")
# An option, before its value.
VALUE = re.compile(r"(?<= )(--?[\w-]+) (?=[^-])")
# "name:  meaning" at the margin.
LABEL = re.compile(r"^\S+ {2,}\S")
WIDTH = 70  # columns of a command: a page has 80, of which the margins take up to ten
TYPED = ("rocketns ", "mqnamesrv ")


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of each block between empty lines; the title is empty where the block has no heading."""
    title = ""
    for block in re.split(r"\n\s*\n", text.strip("\n")) if text.strip() else ():
        lines = block.split("\n")
        if heading := HEADING.match(lines[0]):
            title, lines = heading["title"], lines[1:]
        if lines:
            yield title, lines


def prose(text: str) -> list[nodes.Element]:
    """A description. Lines that only point to other help are left out: SEE ALSO has them."""
    made: list[nodes.Element] = []
    for title, lines in blocks(text):
        kept = [line for line in lines if not POINTER.match(line)]
        made += [nodes.paragraph("", f"{title}:")] if title else []
        made += block(kept)
    return made


def block(lines: Sequence[str]) -> list[nodes.Element]:
    """One block: indented lines are a list or typed lines, others are a paragraph."""
    if not lines:
        return []
    if all(LABEL.match(line) for line in lines):
        return indented([f"  {line}" for line in lines])
    head = next((i for i, line in enumerate(lines) if line.startswith(("  ", *TYPED))), len(lines))
    made: list[nodes.Element] = [nodes.paragraph("", " ".join(lines[:head]))] if head else []
    return made + (indented(lines[head:]) if head < len(lines) else [])


def indented(lines: Sequence[str]) -> list[nodes.Element]:
    """Names with meanings where each line is one or goes on; otherwise lines as they are."""
    parts = [part if part.startswith(" ") else f"  {part}" for line in lines for part in BETWEEN_STATUSES.split(line)]
    entries: list[list[str]] = []
    for part in parts:
        if found := ENTRY.match(part):
            entries.append([found["term"], found["meaning"]])
        elif entries and part.startswith("    "):
            entries[-1][1] += " " + part.strip()
        else:
            return typed(lines)
    # The help has exit statuses in two columns.
    return [definitions(sorted(entries, key=number))]


def number(entry: Sequence[str]) -> int:
    """An exit status as a number; 0 for other terms, which keep their order."""
    return int(entry[0]) if entry[0].isdigit() else 0


def sentence(words: str) -> str:
    """Words of a list of commands as a text of their own."""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def definitions(entries: Sequence[Sequence[str]]) -> nodes.definition_list:
    """Terms, each with its meaning."""
    made = nodes.definition_list()
    for term, meaning in entries:
        said = nodes.definition("", nodes.paragraph("", meaning))
        made += nodes.definition_list_item("", nodes.term("", term), said)
    return made


def typed(lines: Sequence[str]) -> list[nodes.Element]:
    """Commands, a line each. What is indented below one explains it."""
    made: list[nodes.Element] = []
    # "command     what it does" is two lines
    lines = [part for line in lines for part in re.sub(r"(?<=\S) {3,}", "\n        ", line).split("\n")]
    for explains, run in itertools.groupby(lines, explanation):
        texts = [line.strip() for line in run]
        made.append(nodes.block_quote("", nodes.paragraph("", " ".join(texts))) if explains else literal(*texts))
    return made


def explanation(line: str) -> bool:
    """Whether a line says what the command above it does."""
    return line.startswith("      ") and line.strip()[:1].isalpha() and not line.strip().startswith(TYPED)


def literal(*lines: str) -> nodes.literal_block:
    """Commands as they are, of which those that are too long for a terminal go on in the next line."""
    text = "\n".join(part for line in lines for part in folded(line))
    return nodes.literal_block(text, text)


def folded(line: str) -> list[str]:
    """A command in lines that a shell reads as one. An option stays with its value."""
    made = [""]
    for word in VALUE.sub(r"\1\0", line).split(" "):
        if made[-1] and len(made[-1]) + len(word) >= WIDTH - 2:
            made[-1] += " \\"
            made.append("    " + word)
        else:
            made[-1] += f" {word}" if made[-1] else word
    return [part.replace("\0", " ") for part in made]
