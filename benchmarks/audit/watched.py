"""Runs a command and measures its process tree."""

from __future__ import annotations

import subprocess
import time
from typing import NamedTuple

import psutil

POLL_S = 0.1
AUDIT_STATUSES = (0, 1, 3)  # nothing found, findings, incomplete input


class Cost(NamedTuple):
    """CPU and wall time; the maximum of resident memory in the Java process, and in all processes."""

    cpu_s: float
    wall_s: float
    java_mb: int
    all_mb: int


class Watched:
    """Runs a command of the audit to its end. RuntimeError if it fails."""

    def __init__(self, *command: str) -> None:
        self._cpu: dict[int, float] = {}
        self._java = self._all = 0.0
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            self._look(process.pid)
            time.sleep(POLL_S)
        self.out, self.err = process.communicate()
        if process.returncode not in AUDIT_STATUSES:
            raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}\n{self.err[-2000:]}")
        took = time.monotonic() - began
        self.cost = Cost(round(sum(self._cpu.values()), 1), round(took, 1), round(self._java), round(self._all))

    def second_of(self, text: str) -> float:
        """The time in the progress line with this text, by the command's own clock."""
        line = next(line for line in self.err.splitlines() if text in line)
        return float(line.split()[0])

    def _look(self, pid: int) -> None:
        """Sample the process tree. If a process ends between two samples, its last sample counts."""
        java = every = 0.0
        try:
            root = psutil.Process(pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in tree:
            try:
                times, resident = process.cpu_times(), process.memory_info().rss / 1e6
                is_java = process.name().startswith("java")
            except psutil.NoSuchProcess:
                continue
            self._cpu[process.pid] = times.user + times.system
            every += resident
            java += resident if is_java else 0
        self._java, self._all = max(self._java, java), max(self._all, every)
