"""A name server with a shadow before it, and the CPU time of their processes."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import psutil

from benchmarks.servers.kinds import JAVA, ServerKind, all_kinds
from benchmarks.servers.running import Needs, Server

UPSTREAM, RELAY, HALF, JUDGE = "upstream", "relay", "half", "judge"
PROCESSES = (UPSTREAM, RELAY, HALF, JUDGE)
# Brokers register before the first measurement; after this rocketns may serve.
SETTLE = "1s"
SWITCH_S = 1.0


class Shadowed:
    """Started on construction: ``upstream`` and ``shadow`` are asked in turn."""

    def __init__(self, folder: Path, kind: str = JAVA) -> None:
        self.upstream = Server(all_kinds()[kind], folder / UPSTREAM, Needs())
        words = ["shadow", "--upstream", f"127.0.0.1:{self.upstream.port}", "--bind", "127.0.0.1", "--settle", SETTLE]
        shadow = ServerKind(
            "shadow", lambda launch: [sys.executable, "-m", "rocketns", *words, "-p", str(launch.port)], lambda: None
        )
        self.shadow = Server(shadow, folder / "shadow", Needs())
        self.shadow.process.wait_for(r"own half, process \d+, listens at")

    def switch(self, *, serve: bool) -> None:
        """Whose answers go out."""
        self.shadow.process.signal(signal.SIGUSR1 if serve else signal.SIGUSR2)
        time.sleep(SWITCH_S)

    def spent_s(self) -> dict[str, float]:
        """CPU time of each process so far."""
        found = {UPSTREAM: _spent(psutil.Process(self.upstream.pid)), RELAY: _spent(psutil.Process(self.shadow.pid))}
        for child in psutil.Process(self.shadow.pid).children():
            found[HALF if any("half" in word for word in child.cmdline()) else JUDGE] = _spent(child)
        return found

    def kill(self) -> None:
        """End all processes."""
        self.shadow.kill()
        self.upstream.kill()


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
