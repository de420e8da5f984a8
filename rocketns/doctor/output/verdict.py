"""The first line: what is wrong, in one sentence."""

from __future__ import annotations

from rocketns.doctor.finding import State, Weight
from rocketns.doctor.running import Report
from rocketns.doctor.words import _


def verdict(report: Report) -> str:
    """The likeliest cause, what cannot be told, or that all is well."""
    if ill := report.of(State.ILL):
        words = {"sentence": ill[0].sentence, "topics": _(", ").join(report.facts.options.topics)}
        if ill[0].weight >= Weight.PARTLY:
            return _("Most likely: %(sentence)s") % words
        if report.facts.options.topics:
            return _("Nothing found here keeps clients of %(topics)s from working, but: %(sentence)s") % words
        return _("No client fails because of it, but: %(sentence)s") % words
    if unknown := report.of(State.UNKNOWN):
        return _("Nothing wrong was found, but: %(sentence)s") % {"sentence": unknown[0].sentence}
    count = len({one.check for one in report.findings})
    return _.plural("All is well: %(n)d check found nothing wrong.", "All is well: %(n)d checks found nothing wrong.",
                    count) % {"n": count}  # fmt: skip
