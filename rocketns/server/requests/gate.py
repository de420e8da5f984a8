"""The requests that wait while the tables are being filled at the start. Lookups are answered at once: "not ready".

A broker acts on the first answer that it gets, so its registration waits. A client asks another name server then.
"""

from __future__ import annotations

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


class Gate:
    """``is_closed`` between `close` and `open`. ``bytes`` of frames wait, where each counts FRAME_COST_BYTES more."""

    def __init__(self) -> None:
        self.bytes = 0
        self.is_closed = False
        self._frames: dict[Connection, list[Waiting]] = {}

    def close(self) -> None:
        self.is_closed = True

    def holds(self, connection: Connection, waiting: Waiting) -> bool:
        """Whether a frame must wait: also a lookup behind a frame that does."""
        return self.is_closed and (not waiting.is_lookup or connection in self._frames)

    def keep(self, connection: Connection, frames: list[Waiting]) -> None:
        """Add frames behind the others of their connection."""
        self._frames.setdefault(connection, []).extend(frames)
        self.bytes += sum(waiting.size + FRAME_COST_BYTES for waiting in frames)

    def open(self) -> list[tuple[Connection, list[Waiting]]]:
        """Everything that waited, by connection, in the order of arrival."""
        frames, self._frames, self.bytes, self.is_closed = self._frames, {}, 0, False
        return list(frames.items())
