"""Progress messages: the elapsed time, an estimate of the whole, and what is being measured."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """``expected_s`` by part, in order. When a part is over, its real time replaces the estimate."""

    expected_s: dict[str, float]
    _began: float = field(default_factory=time.monotonic)
    _part: str = ""
    _part_began: float = 0.0

    def begin(self, part: str) -> None:
        self.end()
        self._part, self._part_began = part, time.monotonic()

    def end(self) -> None:
        """The current part is over."""
        if self._part:
            self.expected_s[self._part] = time.monotonic() - self._part_began
        self._part = ""

    def total_s(self) -> float:
        """The sum of the real times and the estimates."""
        known = dict(self.expected_s)
        if self._part:
            known[self._part] = max(known[self._part], time.monotonic() - self._part_began)
        return sum(known.values())

    def say(self, text: str) -> None:
        elapsed = time.monotonic() - self._began
        print(f"[{elapsed:4.0f} of about {self.total_s():.0f} s] {self._part}: {text}", flush=True)
