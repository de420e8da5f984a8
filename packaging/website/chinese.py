"""Lines of Chinese text. A browser shows the end of a line as a space, and Chinese has none between its characters."""

from __future__ import annotations

import re

HAN = "\u4e00-\u9fff"
FULL = "\u3001\u3002\u3008-\u3011\uff01-\uff5e"  # punctuation that takes the room of a character
CODE = re.compile(r"(<pre\b.*?</pre>)", re.S)
TAG = r"(?:</?[a-z]+[^>]*>)*"  # <strong>, </a> and the like
AFTER = re.compile(rf"([{FULL}]\u201d?|[{HAN}]\u201d){TAG}\n *")
BEFORE = re.compile(rf"\n *(?={TAG}(?:\u201c?[{FULL}]|\u201c[{HAN}]))")
BETWEEN = re.compile(rf"([{HAN}]{TAG})\n *(?={TAG}[{HAN}])")


def joined(html: str) -> str:
    """The lines of paragraphs without a break beside full-width punctuation, or between two Chinese characters."""
    parts = CODE.split(html)
    return "".join(part if place % 2 else _joined(part) for place, part in enumerate(parts))


def _joined(html: str) -> str:
    for breaks in (AFTER, BEFORE, BETWEEN):
        html = breaks.sub(lambda match: match[0].rstrip("\n "), html)
    return html
