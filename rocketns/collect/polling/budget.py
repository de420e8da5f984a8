"""At most so many requests a second at one name server, evenly spread. Pure: time is an argument, in seconds."""

from __future__ import annotations


class Budget:
    """``spent`` counts the requests. Polls and lookups share the slots: the most urgent request gets the next one."""

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self.spent = 0
        self._next_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """How long until the next request may be sent; 0: now."""
        return max(0.0, self._next_s - now_s)

    def spend(self, now_s: float) -> None:
        """A request is sent. A slot that nobody used is lost: no second has more than its share."""
        self._next_s = max(now_s, self._next_s) + 1 / self.per_second
        self.spent += 1

    def rest(self, now_s: float, took_s: float) -> None:
        """To read an answer took so long. The next request waits as long, so others have half of the time."""
        self._next_s = max(self._next_s, now_s + took_s)
