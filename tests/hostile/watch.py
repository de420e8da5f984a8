"""What a server costs, read from the kernel: resident memory, its peak, and open file descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from interop.harness.servers import NameServer
from interop.harness.wire import eventually

MB = 1 << 20


@dataclass
class Watch:
    """One server process from the moment of construction on. Memory in bytes."""

    server: NameServer

    def __post_init__(self) -> None:
        self._proc = Path("/proc") / str(self.server.pid)
        (self._proc / "clear_refs").write_text("5")  # sets the peak back to what is resident now
        self.fds_before = self.fds()
        self.rss_before = self.rss()

    def fds(self) -> int:
        return len(list((self._proc / "fd").iterdir()))

    def rss(self) -> int:
        return int(psutil.Process(self.server.pid).memory_info().rss)

    def peak_growth(self) -> int:
        """The most that was resident at any moment, above what was at the start."""
        lines = (self._proc / "status").read_text("ascii").splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(kilobytes) * 1024 - self.rss_before


def cpu_seconds(server: NameServer) -> float:
    """What the process has worked since its start."""
    times = psutil.Process(server.pid).cpu_times()
    return float(times.user + times.system)


@contextmanager
def costs_at_most(server: NameServer, growth_max: int) -> Iterator[Watch]:
    """What happens inside leaves no file descriptor open and never makes more than so many bytes more resident."""
    watch = Watch(server)
    yield watch
    eventually(lambda: watch.fds() <= watch.fds_before)
    growth = watch.peak_growth()
    assert growth <= growth_max, f"{growth / MB:.1f} MB more resident at the peak, {growth_max / MB:.1f} MB allowed"
