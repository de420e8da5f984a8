"""How control shares Python with the threads of the HTTP servers."""

from __future__ import annotations

import sys

# While two threads want to run Python, each may run for so long. With Python's 5 ms, control would wait for an answer.
SWITCH_INTERVAL_S = 0.0005


def share_python() -> None:
    """Call it before another thread runs Python beside control."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
