"""What the tables keep of brokers that are in the routes without a sign of life, and of their topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DoubtReason(StrEnum):
    """What made the broker unconfirmed."""

    RESTORED = "restored"  # read from the journal at the start
    SEEDED = "seeded"  # read from another name server at the start
    SILENT_TOGETHER = "silent_together"  # silent at the same time as many others
    STALLED = "stalled"  # its connection ended while the name server did not run


@dataclass(slots=True, frozen=True)
class Doubt:
    """A broker is given up at ``deadline_ms`` of the clock by which brokers expire, or as soon as there is proof.

    ``since_ms`` is on the same clock. ``seen_epoch_ms``: its last sign of life on the wall clock, None if unknown.
    """

    reason: DoubtReason
    since_ms: int
    deadline_ms: int
    seen_epoch_ms: int | None = None

    @property
    def was_heard(self) -> bool:
        """Whether this process itself had heard the broker before."""
        return self.reason in (DoubtReason.SILENT_TOGETHER, DoubtReason.STALLED)


@dataclass(slots=True)
class Unheard:
    """A group whose topics are known from the start alone.

    ``lacking``: topics that no registration named so far; None before the first registration. ``has_several``: one of
    them had more than one topic. ``due_ms``: when the lacking topics are removed, since the registrations may have been
    the whole table.
    """

    lacking: set[str] | None = None
    has_several: bool = False
    due_ms: int | None = None
