"""Rules for ARCHITECTURE.md: every path exists, every folder has a row, every question has one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.check.source import sources

DOCUMENT = "ARCHITECTURE.md"
PATH = re.compile(r"`([\w.][^`\s]*/[^`\s]*)`")
FOLDER_ROW = re.compile(r"^\| `(rocketns/[^`]*)` \|", re.MULTILINE)
QUESTIONS = "## Where is …?"
QUESTION_ROW = re.compile(r"^\| (.*\?) \| (.*) \|$", re.MULTILINE)

Found = Iterator[str]


def missing_paths(root: Path) -> Found:
    """A path in a code span that is neither a file nor a folder below the root."""
    for number, line in enumerate(_text(root).splitlines(), 1):
        for path in PATH.findall(line):
            if not (root / path).exists():
                yield f"{DOCUMENT}:{number}: {path} does not exist; name the file that holds this now"


def folders_without_row(root: Path) -> Found:
    """A folder of rocketns with modules that the map leaves out."""
    listed = set(FOLDER_ROW.findall(_text(root)))
    folders = {Path(source.name).parent.as_posix() + "/" for source in sources(root, "rocketns")}
    yield from (f"{DOCUMENT}:1: {folder} has no row in the map; add one" for folder in sorted(folders - listed))


def questions(root: Path) -> list[tuple[str, str]]:
    """The rows of the table of questions: the question, and the second cell as it is written."""
    section = _text(root).partition(QUESTIONS)[2].partition("\n## ")[0]
    return QUESTION_ROW.findall(section)


def questions_without_one_file(root: Path) -> Found:
    """A question whose second cell is not exactly one file."""
    for question, answer in questions(root):
        match = re.fullmatch(r"`([^`]+)`", answer)
        if match is None or not (root / match[1]).is_file():
            yield f"{DOCUMENT}:1: {question} is answered by {answer}, which is not one file"


def _text(root: Path) -> str:
    return (root / DOCUMENT).read_text("utf-8")
