"""What a check says, and one row of the table of checks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Health(IntEnum):
    """The numbers are the exit statuses of a check; 0 is that of one that found nothing."""

    ILL = 1
    UNKNOWN = 2


class Weight(IntEnum):
    """How much a finding explains of the question asked. Of several ILL findings the heaviest is shown first."""

    NOTE = 0  # worth knowing; no client fails because of it
    ELSEWHERE = 1  # a fault, but not of the topics and groups that were asked for
    PARTLY = 2  # some clients, some queues or some of the time
    EXPLAINS = 3  # alone it is reason enough that clients of the topic, or of the fleet, fail
    PRECISELY = 4  # likewise, and it names the cause of another finding more exactly


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Texts are in the user's language, and may hold names from peers: they are escaped where they are printed.

    ``evidence``: how the doctor knows, a line each. ``commands``: what mends it, a line each, to copy; a line that is
    no command begins with ``#``. ``follows``: names of checks whose ILL findings are the cause of this one. ``check``:
    the name of its own one, which the report fills in.
    """

    sentence: str
    evidence: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    weight: Weight = Weight.EXPLAINS
    follows: tuple[str, ...] = ()
    state: Health = Health.ILL
    check: str = ""
