"""What a session asks of the relay that it belongs to, and the relay of the own half."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rocketns.addresses import with_port
from rocketns.shadow.relay.counts import RelayCounts
from rocketns.shadow.relay.frames.budget import Budget
from rocketns.shadow.relay.leg import Leg
from rocketns.shadow.relay.pairing import Pairing
from rocketns.shadow.switch import Switch

log = logging.getLogger("rocketns.shadow")


class Half(Protocol):
    """What the relay asks of the own half. ``port`` is None while it does not run; ``generation`` counts its starts."""

    port: int | None
    generation: int

    @property
    def is_settled(self) -> bool: ...
    def unsettle(self, why: str) -> None: ...


class Surroundings(Protocol):
    """``percent`` of the connections are served now: less than the switch says while the half may miss brokers.

    ``waiting`` are the sessions whose client is not read because a server is full. ``begins_with_first_bytes``: the
    upstream is connected to when it is known whether the client speaks TLS.
    """

    counts: RelayCounts
    budget: Budget
    frame_bytes_max: int
    percent: int
    switch: Switch
    half: Half
    upstream: Upstream
    pairing: Pairing
    waiting: set[Any]
    begins_with_first_bytes: bool
    now: Callable[[], float]

    def open_upstream(self, session: Any, /) -> Leg: ...
    def open_own(self, session: Any, /) -> Leg: ...
    def opened(self, leg: Leg, /) -> None: ...
    def ended(self, session: Any, /) -> None: ...
    def may_linger(self, session: Any, /) -> bool: ...
    def note_end(self, session: Any, /) -> None: ...
    def say_unread(self) -> None: ...


@dataclass(slots=True)
class Upstream:
    """``is_down`` from a connection that failed to the next one that is opened."""

    host: str
    port: int
    is_down: bool = False

    def __str__(self) -> str:
        return with_port(self.host, self.port)

    def note(self, why: str | None) -> bool:
        """A connection was opened, or was not: ``why``. Whether that is new."""
        was, self.is_down = self.is_down, why is not None
        if was == self.is_down:
            return False
        if self.is_down:
            log.warning("the upstream %s takes no connections: %s", self, why)
        else:
            log.info("the upstream %s takes connections", self)
        return True
