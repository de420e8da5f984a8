"""Rules for ARCHITECTURE.md and docs/design: every path exists, every room has a row, every question has one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCUMENT = "ARCHITECTURE.md"
PAGES = "docs/design"
BYTES_MAX = 16_000
PATH = re.compile(r"`([\w.][^`\s]*/[^`\s]*)`")
FOLDER_ROW = re.compile(r"^\| `(rocketns/[^`]*)` \|", re.MULTILINE)
QUESTIONS = "## Where is …?"
QUESTION_ROW = re.compile(r"^\| (.*\?) \| (.*) \|$", re.MULTILINE)

Found = Iterator[str]


def missing_paths(root: Path) -> Found:
    """A path in a code span that is neither a file nor a folder below the root."""
    for name, text in _texts(root):
        for number, line in enumerate(text.splitlines(), 1):
            for path in PATH.findall(line):
                if not (root / path).exists():
                    yield f"{name}:{number}: {path} does not exist; name the file that holds this now"


def rooms_without_row(root: Path) -> Found:
    """A folder directly below rocketns that the map leaves out. docs/design/folders.md has all of them."""
    listed = set(FOLDER_ROW.findall((root / DOCUMENT).read_text("utf-8")))
    rooms = {f"rocketns/{path.parent.name}/" for path in (root / "rocketns").glob("*/__init__.py")}
    yield from (f"{DOCUMENT}:1: {room} has no row in the map; add one" for room in sorted(rooms - listed))


def too_long(root: Path) -> Found:
    """More than a newcomer reads in one sitting."""
    size = (root / DOCUMENT).stat().st_size
    if size > BYTES_MAX:
        yield f"{DOCUMENT}:1: {size} bytes, at most {BYTES_MAX}: move details to {PAGES}"


def questions(root: Path, name: str = DOCUMENT) -> list[tuple[str, str]]:
    """The rows of a page's table of questions: the question, and the second cell as it is written."""
    section = (root / name).read_text("utf-8").partition(QUESTIONS)[2].partition("\n## ")[0]
    return QUESTION_ROW.findall(section)


def questions_without_one_file(root: Path) -> Found:
    """A question whose second cell is not exactly one file."""
    for name, _ in _texts(root):
        for question, answer in questions(root, name):
            match = re.fullmatch(r"`([^`]+)`", answer)
            if match is None or not (root / match[1]).is_file():
                yield f"{name}:1: {question} is answered by {answer}, which is not one file"


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for path in (root / DOCUMENT, *sorted((root / PAGES).glob("*.md"))):
        yield path.relative_to(root).as_posix(), path.read_text("utf-8")
