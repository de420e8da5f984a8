"""What the relay counts. Outcomes of pairs that differ are the judge's."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rocketns.shadow.relay.frames.heads import Head


@dataclass(slots=True)
class RelayCounts:
    """Since the start, but for ``open``."""

    connections: int = 0
    open: int = 0
    refused: int = 0  # connections beyond the limit, or without an upstream
    requests: int = 0
    oneway: int = 0  # they have no answer to compare
    served: int = 0  # answered by rocketns
    fell_back: int = 0  # rocketns should have answered, and the upstream did
    alone: int = 0  # rocketns answered, and there was no upstream
    equal: int = 0  # both answers have the same bytes
    judged: int = 0  # pairs handed to the judge
    skipped: int = 0  # pairs that were not compared for lack of room, or of a judge
    left: int = 0  # requests that are not compared: their connection ended before both servers had answered
    closed: int = 0  # only one of the two servers ended a connection
    given_up: int = 0  # connections to a server that did not keep up, or ended
    reopened: int = 0
    tls: int = 0  # connections passed unread
    garbage: int = 0  # connections whose bytes are no frames

    def count_unpaired(self, head: Head | None, *, has_upstream: bool) -> None:
        """A request that has no two answers to compare."""
        if head is not None and (head.is_answer or head.is_oneway):
            self.oneway += head.is_oneway
        elif has_upstream:
            self.skipped += 1
        else:
            self.alone += 1

    def items(self) -> dict[str, int]:
        """By name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}
