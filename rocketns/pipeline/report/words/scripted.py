"""What the page's script says. It finds these texts in the page, by the English ones."""

from __future__ import annotations

from rocketns.languages import N_
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


def spoken() -> dict[str, str]:
    """The texts that are not English, by the English ones."""
    return {text: shown for text in SPOKEN if (shown := _(text)) != text}
