"""When control took its last turn: a timer on its loop writes down the time, four times a second."""

from __future__ import annotations

import asyncio
import time

BEAT_S = 0.25
# A registration of the maximum of topics takes control seconds on a slow machine. What takes longer is no turn.
ALIVE_WITHIN_S = 10.0


class Pulse:
    """`start` on control's thread; the rest may be read on any."""

    def __init__(self) -> None:
        self._beat_s = time.monotonic()

    def start(self) -> None:
        """Control only, on its running loop. It beats until the loop ends."""
        self._beat()

    def _beat(self) -> None:
        self._beat_s = time.monotonic()
        asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    @property
    def age_s(self) -> float:
        """Seconds since control's loop ran last."""
        return time.monotonic() - self._beat_s

    @property
    def is_alive(self) -> bool:
        """Whether control took a turn lately."""
        return self.age_s < ALIVE_WITHIN_S
