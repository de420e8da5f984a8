"""Names within a sentence of the page, marked so that they stand out and do not break at a hyphen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup

from rocketns.pipeline.report.scripts import in_html
from rocketns.pipeline.report.text import short


def marked(sentence: str, names: Iterable[str]) -> Markup:
    """The sentence as HTML with each of these names in a ``span`` of class ``name``."""
    shown = sorted({short(name) for name in names if name}, key=len, reverse=True)
    if not shown:
        return in_html(sentence)
    parts = re.split(f"((?<![\\w-])(?:{'|'.join(map(re.escape, shown))})(?![\\w-]))", sentence)
    span = Markup('<span class="name">{}</span>')
    return Markup("").join(
        span.format(in_html(part)) if place % 2 else in_html(part) for place, part in enumerate(parts)
    )
