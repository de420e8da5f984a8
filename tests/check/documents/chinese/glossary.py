"""docs/zh/glossary.md: each term, its Chinese word, and the words that are not used for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = "docs/zh/glossary.md"
CELLS = 4
WORDS = re.compile("[、/]")
LATIN = re.compile(r"[A-Za-z]")
# Code, quoted English, placeholders, options, and Latin names: those with a dot, slash, digit or inner capital.
CODE = re.compile(
    r"`[^`]*`|“[ -~]+”"
    r"|\]\([^)]*\)|https?://\S+|%\(\w+\)[a-z]|%[sd]|\{\w*\}|<[^>]*>|(?<!\S)--?[a-z][\w-]*(?:[ =][A-Z_]+)?"
    r"|\b\w*[./_:$=\d]\w[\w./:$=-]*|\b[a-z]+[A-Z]\w*|\b(?:mqadmin|rocketns)(?: [!-~]+)+",
    re.ASCII,
)
MASK = "\1"
HAN = r"\u4e00-\u9fff"
HALF_WIDTH = re.compile(rf"[{HAN}][,;:?!](?=\s|[{HAN}]|$)|[{HAN}]\.(?=\s|$)|[{HAN}]\(|\)[{HAN}]")
CLOSE = re.compile(rf"[{HAN}][A-Za-z0-9`]|[A-Za-z0-9`][{HAN}]")


@dataclass(frozen=True)
class Term:
    english: str
    chinese: tuple[str, ...]
    forbidden: tuple[str, ...]


def terms(root: Path) -> list[Term]:
    """ValueError for a row that has no word, or forbids a word that another row asks for."""
    lines = (root / PAGE).read_text("utf-8").splitlines()
    rows = [line.strip().strip("|").split("|") for line in lines if line[:1] == "|"]
    cells = [[cell.strip() for cell in row] for row in rows if len(row) == CELLS]
    found = [Term(row[0], _words(row[1]), _words(row[2])) for row in cells if row[0] != "English" and row[0].strip("-")]
    wanted = {word for term in found for word in term.chinese}
    for term in found:
        if not term.chinese or (clash := wanted & set(term.forbidden)):
            raise ValueError(f"{PAGE}: {term.english}: no word, or one that another row asks for: {clash}")
    return found


def _words(cell: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in WORDS.split(cell) if word.strip())


def faults(text: str, glossary: list[Term], *, prose: bool = True) -> Iterator[tuple[int, str]]:
    """Line (from 1) and what is wrong in it: forbidden words, half-width punctuation, no blank beside Latin.

    Messages of programs (not ``prose``) have names without backticks: a Latin word counts only beside a Chinese one.
    """
    for number, line in enumerate(without_blocks(text).splitlines() if prose else text.splitlines(), 1):
        plain = CODE.sub(lambda code: "``" if code[0][0] == "`" else MASK, line)
        yield from ((number, reason) for reason in _forbidden(plain, glossary, prose=prose))
        for pattern, reason in ((HALF_WIDTH, "half-width punctuation"), (CLOSE, "no blank between Chinese and Latin")):
            yield from ((number, f"{reason}: {match[0]}") for match in pattern.finditer(plain))


def _forbidden(line: str, glossary: list[Term], *, prose: bool) -> Iterator[str]:
    for word in sorted({word for term in glossary for word in term.chinese}, key=len, reverse=True):
        if not LATIN.match(word):
            line = line.replace(word, word[0] + MASK * (len(word) - 1))
    for term in glossary:
        for word in term.forbidden:
            if _has(line, word, prose=prose):
                yield f"{word}: write {' / '.join(term.chinese)}"


def without_blocks(text: str) -> str:
    """Blocks of code leave empty lines."""
    text = re.sub(r"^ *```.*?^ *```", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"^ {4,}(?! *\|).*$", "", text, flags=re.M)


def _has(line: str, word: str, *, prose: bool) -> bool:
    if not LATIN.match(word):
        return word in line
    found = re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line, re.ASCII)
    return any(prose or _beside_chinese(line, match) for match in found)


def _beside_chinese(line: str, match: re.Match[str]) -> bool:
    around = (line[: match.start()].removesuffix(" ")[-1:], line[match.end() :].removeprefix(" ")[:1])
    return any(re.fullmatch(f"[{HAN}]", letter) for letter in around)
