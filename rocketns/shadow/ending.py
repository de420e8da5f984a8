"""Ends a child of the shadow when its parent is gone, also if that was killed: then its standard input ends."""

from __future__ import annotations

import os
import signal
import threading
import time

GRACE_S = 3.0
_CHUNK = 4_096


def end_with_parent() -> None:
    """Call it first of all, before any other thread starts. SIGQUIT is for the thread that prints the stacks."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})
    threading.Thread(target=_wait_for_the_end, name="parent", daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(0, _CHUNK):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)
