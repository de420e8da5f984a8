"""The disturbances of a server with their times, so that a peer knows which failures are expected."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

# A peer may be waiting when a disturbance begins, and connect again after it.
SETTLES_S = 10.0


@dataclass
class Disturbance:
    """``ends`` is None while it goes on. Times are monotonic seconds."""

    kind: str
    begins: float
    ends: float | None = None


@dataclass
class Timeline:
    """Disturbances of one server, in order."""

    past: list[Disturbance] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def during(self, kind: str) -> Iterator[None]:
        one = Disturbance(kind, time.monotonic())
        with self._lock:
            self.past.append(one)
        yield
        one.ends = time.monotonic()

    def explains(self, kind: str, since: float) -> bool:
        """Whether a disturbance of this kind went on at some moment from ``since`` on, or ended shortly before."""
        with self._lock:
            return any(one.kind == kind and (one.ends is None or one.ends + SETTLES_S > since) for one in self.past)
