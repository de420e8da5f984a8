"""Which recorded requests are sent: by default only those that change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from rocketns.processor.requests import REQUESTS


class Unsent(StrEnum):
    """Why a recorded request is not sent."""

    CHANGES = "changes something"
    UNKNOWN = "unknown request, which may change something"
    OTHER = "not in --only"


@dataclass(frozen=True)
class Choice:
    """``only``: codes; empty for all. ``with_changes``: also what registers, unregisters or changes something."""

    only: frozenset[int] = field(default=frozenset())
    with_changes: bool = False

    def why_not(self, code: int) -> Unsent | None:
        """None for a request that is sent."""
        if self.only and code not in self.only:
            return Unsent.OTHER
        if self.with_changes:
            return None
        if code not in REQUESTS:
            return Unsent.UNKNOWN
        return Unsent.CHANGES if REQUESTS[code].has_effect else None


def changes(code: int) -> bool:
    """Whether a request may change something, so that it is never sent twice."""
    return code not in REQUESTS or REQUESTS[code].has_effect
