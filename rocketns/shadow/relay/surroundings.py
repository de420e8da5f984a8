"""What a session asks of the relay that it belongs to, and the relay of the own half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rocketns.shadow.relay.counts import RelayCounts
from rocketns.shadow.relay.frames.budget import Budget
from rocketns.shadow.relay.leg import Leg
from rocketns.shadow.relay.pairing import Pairing
from rocketns.shadow.relay.upstream import Upstream
from rocketns.shadow.switch import Switch


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
