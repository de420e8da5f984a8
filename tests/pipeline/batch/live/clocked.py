"""``python -m tests.pipeline.batch.live.clocked HOME EPOCH_MS KEY=VALUE…``: a name server in a process of its own.

Its clock moves only when a line on standard input gives a number of ms. It prints its port, and a line after each move.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.inprocess import FakeClock, TimedServer

# Jobs that run later than a second look like a stall of the process.
STEP_MS = 1_000
WRITTEN_WITHIN_S = 30.0


def main(home: str, epoch_ms: str, *properties: str) -> None:
    """Serve until standard input ends; then stop as on SIGTERM."""
    settings: dict[str, object] = dict(text.split("=", 1) for text in properties)
    server = TimedServer(Path(home), settings, FakeClock(int(epoch_ms)))
    print(server.port, flush=True)
    for line in sys.stdin:
        for _ in range(0, int(line), STEP_MS):
            server.advance(STEP_MS)
        journal = server.controller.journal
        assert journal is not None
        print(journal.writer.wait_until_settled(WRITTEN_WITHIN_S), flush=True)
    server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
