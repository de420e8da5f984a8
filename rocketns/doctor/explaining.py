"""What `--list-checks` and `--explain` print."""

from __future__ import annotations

from rocketns.doctor.checks.catalogue import BY_NAME, CHECKS
from rocketns.doctor.words import _
from rocketns.errors import RocketnsError
from rocketns.tools.output import TextTable, plain


class NoSuchCheckError(RocketnsError):
    """There is no check of that name; the text has all names."""


def listing() -> str:
    """All checks, in the order of the path from a client to a queue."""
    rows = [(check.name, _(check.about)) for check in CHECKS]
    return plain(TextTable((_("CHECK"), _("WELL IF")), rows)) + "\n"


def explained(name: str) -> str:
    """One check. NoSuchCheckError."""
    check = BY_NAME.get(name)
    if check is None:
        words = {"name": name, "names": _(", ").join(BY_NAME)}
        raise NoSuchCheckError(_("there is no check %(name)s; the checks are %(names)s") % words)
    return _("%(name)s\n\nWell if %(about)s. %(explanation)s\n") % {
        "name": name, "about": _(check.about), "explanation": _(check.explanation)}  # fmt: skip
