"""An outgoing connection, charged like an accepted one: to the same totals, with answers in turns."""

from __future__ import annotations

from functools import partial

from rocketns.client.connection import Forget, NotSentError, OutgoingConnection
from rocketns.routeinfo.events import Cause
from rocketns.server.connections.totals import Totals
from rocketns.server.control.control import Control
from rocketns.server.requests.holders import INPUT, OUTPUT, PROGRESS_BYTES
from rocketns.server.requests.traffic import Traffic


class ChargedConnection(OutgoingConnection, Traffic):
    """A `rocketns.routeinfo.connection.Connection`, which never registers a broker. Control only."""

    is_tls = is_full = has_ended = False

    def __init__(
        self, totals: Totals, control: Control, forget: Forget, addr: str, account: str, rest_s_max: float
    ) -> None:
        OutgoingConnection.__init__(self, forget, addr, account, rest_s_max)
        Traffic.__init__(self, 0, (account, account))
        self._totals = totals
        self._control = control
        self._written = 0  # bytes that were unsent when the totals were told, and those written since

    @property
    def is_read(self) -> bool:
        return self.is_open

    def count_unsent(self) -> tuple[int, int]:
        """The bytes that are unsent now, and how many the peer took since the last call."""
        left = self.unsent_bytes
        taken, self._written = self._written - left, left
        return left, taken

    def note_unsent(self, added: int) -> None:
        self._written += added
        self.resume_writing()
        self._totals.enforce_limit(OUTPUT)

    def resume_writing(self) -> None:
        """The peer took what waited."""
        self._totals.hold(OUTPUT, self, *self.count_unsent())

    def note_unfinished(self, size: int, came: int, has_answers: bool) -> None:
        self._totals.hold(INPUT, self, size, PROGRESS_BYTES if has_answers else came)
        self._totals.enforce_limit(INPUT)

    def keep_nothing(self) -> None:
        super().keep_nothing()
        self._totals.forget(self)

    def take(self, opaque: int, frame: bytes) -> None:
        """Give it when its host has its turn."""
        self._control.submit_answer(self, frame, partial(self._take_in_turn, opaque))

    def _take_in_turn(self, opaque: int, frame: bytes | memoryview | None) -> None:
        """None: too much waits."""
        if frame is None:
            self.answers.fail(opaque, NotSentError(f"the answer of {self.address} was dropped: too much waits"))
        else:
            self.give(opaque, frame)

    def write(self, frame: bytes) -> None:
        """Nothing is answered here."""

    def flush(self) -> None:
        """Nothing is joined here."""

    def abort(self, cause: Cause, why: str = "") -> None:
        """Control or the totals end the connection."""
        self.fail(why or cause)
