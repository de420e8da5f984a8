"""Names in any script, shown so that they disturb nothing around them.

Letters that are written from right to left move the digits and names beside them. So on the page and in Markdown they
are isolated. Terminals know no isolation: there they are escaped.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from markupsafe import Markup, escape

# Without a glyph, though Unicode counts them as printable: letters, signs, and marks.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))  # of variants, without a glyph too
MARKS_MAX = 4  # that are drawn over one letter
RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))
# The blocks of these scripts, and what joins the parts of a name. The page's script has both, too.
LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
JOINING = "0-9%.:/_-"
RUN = re.compile(f"[{LETTERS}](?:[{LETTERS}{JOINING}]*[{LETTERS}])?")
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"


def visible(text: str) -> str:
    """Text with names from the network in which what disturbs is escaped: control characters, also those of writing
    direction, invisible ones, lone surrogates, and marks but for MARKS_MAX on a letter that is not ASCII."""
    if text.isascii() and text.isprintable():
        return text
    shown, room = [], 0
    for c in text:
        is_mark = unicodedata.category(c).startswith("M")
        room = room - 1 if is_mark else MARKS_MAX if not c.isascii() and c.isalnum() else 0
        shown.append(c if _has_glyph(c) and room >= 0 else _escaped(c))
    return "".join(shown)


def strict(text: str) -> str:
    """The same, with every mark and every letter escaped that is written from right to left: for terminals, drawings,
    and commands."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _is_plain(c) else _escaped(c) for c in text)


def isolated(text: str) -> str:
    """``visible`` text for places without markup, with the characters that isolate what is written from right to
    left."""
    return RUN.sub(f"{FIRST_STRONG_ISOLATE}\\g<0>{POP_ISOLATE}", visible(text))


def in_html(text: str) -> Markup:
    """``visible`` text as HTML, in which a ``bdi`` isolates what is written from right to left."""
    return Markup(RUN.sub(r"<bdi>\g<0></bdi>", str(escape(visible(text)))))


@cache
def _has_glyph(c: str) -> bool:
    return c.isprintable() and c not in BLANK and not any(ord(c) in some for some in SELECTORS)


@cache
def _is_plain(c: str) -> bool:
    is_mark = unicodedata.category(c).startswith("M")
    return _has_glyph(c) and not is_mark and unicodedata.bidirectional(c) not in RIGHT_TO_LEFT


def _escaped(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")
