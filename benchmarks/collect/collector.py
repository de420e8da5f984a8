"""`rocketns collect` as a process: its CPU time, its memory, and the bytes of its journal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.failures import CellFailed
from benchmarks.servers.process import cpu_s, resident_mb
from interop.harness.process import Process


class Collector:
    """Started on construction, with a new journal in ``folder``. ``ports`` are those of its name servers."""

    def __init__(self, ports: Sequence[int], per_second: float, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.journal = folder / "journal"
        named = ",".join(f"ns-{number + 1}=127.0.0.1:{port}" for number, port in enumerate(ports))
        command = [sys.executable, "-m", "rocketns", "collect", "--name-servers", named, "--journal", str(self.journal),
                   "--requests-per-second", f"{per_second:g}"]  # fmt: skip
        self.process = Process(command, folder / "output", cwd=folder)

    def check_alive(self) -> None:
        """CellFailed if it has ended."""
        if self.process.popen.poll() is not None:
            raise CellFailed(f"collect ended with status {self.process.popen.returncode}: {self.process.text()[-400:]}")

    def cpu_s(self) -> float:
        """Since its start."""
        return cpu_s(self.process.pid)

    def resident_mb(self) -> float:
        """Now."""
        return resident_mb(self.process.pid)

    def highest_mb(self) -> float:
        """The most resident memory so far."""
        return resident_mb(self.process.pid, "VmHWM:")

    def journal_bytes(self) -> int:
        """Of all files of its journal."""
        return sum(path.stat().st_size for path in self.journal.rglob("*") if path.is_file())

    def stop(self) -> None:
        self.process.stop()
