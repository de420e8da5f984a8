"""The verdict of a run and the exit statuses of `rocketns audit`."""

from __future__ import annotations

from enum import StrEnum

EXIT_NOTHING, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_FAILED = 0, 1, 2, 3, 70


class Verdict(StrEnum):
    """The result of a run. Incomplete input is never called clean, whatever else was found."""

    NOTHING = "nothing"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"


STATUS = {
    Verdict.NOTHING: EXIT_NOTHING,
    Verdict.FINDINGS: EXIT_FINDINGS,
    Verdict.INCOMPLETE: EXIT_INCOMPLETE,
}
