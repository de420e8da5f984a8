"""Links, anchors and file names in the documents, and whether they exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^(```|    ).*$", re.M)
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)
# A name with one of these folders first is a path of the repository.
PATH = re.compile(r"^(rocketns|tests|interop|benchmarks|docs)/[\w./*-]+$")
OUTSIDE = ("http://", "https://", "mailto:")


def documents(root: Path) -> list[Path]:
    """The Markdown files that git tracks, or all of them where the root is no repository."""
    if (root / ".git").exists():
        listed = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
        names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.rstrip("\0").split("\0")
        return [root / name for name in names if (root / name).is_file()]
    return sorted(root.rglob("*.md"))


def broken(root: Path) -> Iterator[str]:
    """``file:line: what is missing`` for each link, anchor and path."""
    for document in documents(root):
        text = document.read_text("utf-8")
        where = document.relative_to(root).as_posix()
        for match in LINK.finditer(text):
            if reason := _broken_link(document, match["target"]):
                yield f"{where}:{_line(text, match)}: {reason}"
        for match in CODE.finditer(FENCE.sub("", text)):
            if PATH.match(match[1]) and not _exists(root, match[1]):
                yield f"{where}: `{match[1]}` is not there"


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def _broken_link(document: Path, target: str) -> str:
    if target.startswith(OUTSIDE):
        return ""
    name, _, anchor = target.partition("#")
    file = document.parent / name if name else document
    if not file.exists():
        return f"no file {target}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8")):
        return f"no heading for {target}"
    return ""


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to headings: letters and digits, a hyphen for each blank."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def _exists(root: Path, name: str) -> bool:
    """A module may be named without its suffix, several at once with a star."""
    name = name.rstrip("/")
    return any(root.glob(name)) or any(root.glob(f"{name}.py")) or any(root.glob(f"{name}.pyx"))
