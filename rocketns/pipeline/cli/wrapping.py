"""Lines of Chinese help: a character may be two columns wide, and a line may end after any of them."""

from __future__ import annotations

import re
import unicodedata

# What a line does not break: a word, a wide character with the punctuation that ends a sentence after it.
PIECE = re.compile(r"\s+|[（“]?[^\s\u2e80-\uffef]+[，。：；、）”]*|[（“]*.[，。：；、）”]*")


def wrapped(text: str, width: int) -> list[str]:
    """The text as lines of at most ``width`` columns, unless a word is longer."""
    lines, line = [], ""
    for piece in PIECE.findall(" ".join(text.split())):
        if line and columns(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


def columns(text: str) -> int:
    """How many columns of a terminal it takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
