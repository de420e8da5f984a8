"""Names within a sentence of the page, marked so that they stand out and do not break at a hyphen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup

from rocketns.languages import N_
from rocketns.pipeline.report.scripts import in_html
from rocketns.pipeline.report.text import short
from rocketns.pipeline.saying import _

SPOKEN = (
    N_("Previous"), N_("Previous "
                       "page"), N_("Next"), N_("Next "
                                                        "page"), N_("%(from)s to %(to)s of "
                                                                         "%(all)s"), N_("nothing"),
    N_("Copy"), N_("Copied"), N_("Selected: press Ctrl+C"),
    N_("show"), N_("Incident"), N_("any column"), N_("Search"), N_("all"), N_("Rows"),
    N_("severe"), N_("major"), N_("minor"), N_("gone after a failure"),
    N_("gone without a failure or not there yet"), N_("name servers disagree"), N_("name server away or not known"),
    N_("gone, cause not visible from outside"), N_("not watched"),
    N_("%(n)s d"), N_("%(n)s h"), N_("%(n)s min"), N_("%(n)s s"), N_("%(n)s ms"),
    N_("A part of the timeline. Arrow keys move it, plus and minus zoom, Home shows everything."),
    N_("%(what)s: %(begin)s to %(end)s UTC, %(length)s"), N_("%(begin)s to %(end)s UTC, %(length)s"),
    N_("Nothing was wrong in this time."),
    N_("%(n)s more rows have something in this time: choose a shorter one."),
    N_("Show"), N_("Earlier"), N_("Later"), N_("Zoom in"), N_("Zoom out"), N_("All"), N_("Show everything"),
)  # fmt: skip


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


def spoken() -> dict[str, str]:
    """The texts that are not English, by the English ones."""
    return {text: shown for text in SPOKEN if (shown := _(text)) != text}
