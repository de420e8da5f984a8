"""How long a name server ran since some instant: the clock of all bounds that a stall extends."""

from __future__ import annotations

from tests.simulation.actors.nameserver import NameServerProcess


class RunTime:
    """Counts the time in which a process was neither stopped nor dead. ``note`` is called at each change."""

    def __init__(self, process: NameServerProcess) -> None:
        self._process = process
        self._stops: list[tuple[int, int]] = []
        self._stopped_us: int | None = None

    def note(self, now_us: int) -> None:
        if self._process.is_stopped and self._stopped_us is None:
            self._stopped_us = now_us
        elif not self._process.is_stopped and self._stopped_us is not None:
            self._stops.append((self._stopped_us, now_us))
            self._stopped_us = None

    def was_stopped(self, since_us: int, longer_than_us: int) -> bool:
        """Whether a stop that was longer than this ended since then, or goes on."""
        ended = any(end >= since_us and end - start > longer_than_us for start, end in self._stops)
        return ended or self._stopped_us is not None

    def last_stop(self, longer_than_us: int) -> tuple[int, int] | None:
        """When the last stop that was longer than this began and ended."""
        return next((stop for stop in reversed(self._stops) if stop[1] - stop[0] > longer_than_us), None)

    def ran_us(self, since_us: int, now_us: int, *, ignores_us: int = 0) -> int:
        """The part of this interval in which it ran. Stops of at most ``ignores_us`` count as running."""
        stops = [*self._stops, (self._stopped_us, now_us)] if self._stopped_us is not None else self._stops
        missed = sum(
            max(0, min(end, now_us) - max(start, since_us)) for start, end in stops if end - start > ignores_us
        )
        return max(0, now_us - since_us - missed)
