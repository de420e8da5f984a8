"""What the own half's process runs: `rocketns`, which ends with the process that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from rocketns.startup import main as name_server

GRACE_S = 3.0
_CHUNK = 4_096


def main(arguments: Sequence[str]) -> int:
    """Run the name server until it is stopped, or the parent is gone; return the exit status."""
    end_with_parent()
    return name_server(arguments)


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
