"""Connections that the server opens: what they hold is counted, and their answers take turns, as those of peers."""

from __future__ import annotations

from functools import partial

from rocketns._fast.reactor.reactors import Reactors
from rocketns.client.connection import Forget, NotSentError, OutgoingConnection
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.server.control.control import Control


class ChargedConnection(OutgoingConnection, Connection):  # type: ignore[override]  # asyncio says whether it is open
    """Its unfinished answers count in the reactors' total, and answers take turns. Control only.

    It never registers a broker, and nothing is answered here.
    """

    def __init__(
        self, reactors: Reactors, control: Control, forget: Forget, addr: str, account: str, rest_s_max: float
    ) -> None:
        OutgoingConnection.__init__(self, forget, addr, account, rest_s_max)
        Connection.__init__(self, addr, account, 0)
        self._reactors = reactors
        self._control = control
        self._counted_bytes = 0

    def note_unfinished(self, size: int) -> None:
        change, self._counted_bytes = size - self._counted_bytes, size
        if change and not self._reactors.count_here(change):
            self.fail("over the limit for unfinished frames (incomingBytesMax), and nobody else is to be closed")

    def keep_nothing(self) -> None:
        super().keep_nothing()
        self._reactors.count_here(-self._counted_bytes)
        self._counted_bytes = 0

    def take(self, opaque: int, frame: bytes) -> None:
        """Give it when its host has its turn."""
        self._control.submit(self, frame, take=partial(self._take_in_turn, opaque))

    def _take_in_turn(self, opaque: int, frame: bytes | memoryview | None) -> None:
        """None: too much waits."""
        if frame is None:
            self.answers.fail(opaque, NotSentError(f"the answer of {self.address} was dropped: too much waits"))
        else:
            self.give(opaque, frame)

    def abort(self, cause: Cause, why: str = "") -> None:
        """Control ends the connection."""
        self.fail(why or cause)
