"""Words on the way: how long it has taken, about how long it will, and what is going on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """``expected_s`` by part, in order; what a part really took replaces its guess once it is over."""

    expected_s: dict[str, float]
    _began: float = field(default_factory=time.monotonic)
    _part: str = ""
    _part_began: float = 0.0

    def begin(self, part: str) -> None:
        self.end()
        self._part, self._part_began = part, time.monotonic()

    def end(self) -> None:
        """The part that runs is over."""
        if self._part:
            self.expected_s[self._part] = time.monotonic() - self._part_began
        self._part = ""

    def total_s(self) -> float:
        """What is known and what is guessed, together."""
        known = dict(self.expected_s)
        if self._part:
            known[self._part] = max(known[self._part], time.monotonic() - self._part_began)
        return sum(known.values())

    def say(self, text: str) -> None:
        elapsed = time.monotonic() - self._began
        print(f"[{elapsed:4.0f} of about {self.total_s():.0f} s] {self._part}: {text}", flush=True)
