"""Memory that is free but still the process' own: after a flood, tens of megabytes."""

from __future__ import annotations

from rocketns._fast.system.process import give_back_free_memory

GIVE_BACK_INTERVAL_MS = 10_000

__all__ = ["GIVE_BACK_INTERVAL_MS", "give_back_free_memory"]
