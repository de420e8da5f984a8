"""The verdict of a run, the exit statuses of `rocketns audit`, and the error that ends a command with status 2."""

from __future__ import annotations

from enum import StrEnum

from rocketns.errors import RocketnsError

EXIT_NOTHING, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_FAILED = 0, 1, 2, 3, 70


class Verdict(StrEnum):
    """The result of a run. Incomplete input is never called clean, whatever else was found."""

    NOTHING = "nothing"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"


STATUS = {Verdict.NOTHING: EXIT_NOTHING, Verdict.FINDINGS: EXIT_FINDINGS, Verdict.INCOMPLETE: EXIT_INCOMPLETE}


class BadInput(RocketnsError):
    """Wrong usage, or input that cannot be read. Only the message is printed. It says what to do."""
