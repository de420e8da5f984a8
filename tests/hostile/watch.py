"""A server's resources, read from the kernel: resident memory, its peak, and open file descriptors."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import eventually

MB = 1 << 20
POLL_S = 0.01
BUSY_MACHINE_STOP_S = 60.0
# Of tests that measure by the clock: a machine that stands still for a moment makes any stop longer.
by_the_clock = pytest.mark.flaky(reruns=2)


@dataclass
class Watch:
    """One server process, watched from construction on. Memory in bytes."""

    server: NameServer

    def __post_init__(self) -> None:
        self._proc = Path("/proc") / str(self.server.pid)
        (self._proc / "clear_refs").write_text("5")  # resets the peak to what is resident now
        self.fds_before = self.fds()
        self.rss_before = self.rss()

    def fds(self) -> int:
        return len(list((self._proc / "fd").iterdir()))

    def rss(self) -> int:
        return int(psutil.Process(self.server.pid).memory_info().rss)

    def peak_growth(self) -> int:
        """The peak of resident memory above that at the start."""
        lines = (self._proc / "status").read_text("ascii").splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(kilobytes) * 1024 - self.rss_before


def cpu_seconds(server: NameServer) -> float:
    """CPU seconds of the process since its start."""
    times = psutil.Process(server.pid).cpu_times()
    return float(times.user + times.system)


def seconds_to_stop(popen: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> float:
    """Seconds from the signal to the end with status 0, without the time in which other programs had the cores."""
    began, waited, before = time.monotonic(), 0.0, waited_for_a_core(popen.pid)
    popen.send_signal(number)
    while popen.poll() is None and time.monotonic() < began + BUSY_MACHINE_STOP_S:
        waited = max(waited, waited_for_a_core(popen.pid) - before)
        time.sleep(POLL_S)
    took = time.monotonic() - began
    assert popen.wait(0) == 0
    return took - waited


def waited_for_a_core(pid: int) -> float:
    """Seconds since its start in which its threads were ready to run and had no core. One may wait for another one."""
    return sum(waited for _, waited in threads_s(pid).values())


def threads_s(pid: int) -> dict[str, tuple[float, float]]:
    """Of each thread of a process: seconds in which it ran, and in which it was ready to run and had no core."""
    found = {}
    for thread in (Path("/proc") / str(pid) / "task").iterdir():
        with suppress(OSError, IndexError):  # it has ended
            ran, waited, _ = (thread / "schedstat").read_text("ascii").split()
            found[thread.name] = (int(ran) / 1e9, int(waited) / 1e9)
    return found


def own_delay_s() -> float:
    """Seconds in which the calling thread was ready to run and had no core."""
    return threads_s(os.getpid()).get(str(threading.get_native_id()), (0.0, 0.0))[1]


@contextmanager
def costs_at_most(server: NameServer, growth_max: int) -> Iterator[Watch]:
    """Check that the block leaves no file descriptor open and lets resident memory grow by no more than this."""
    watch = Watch(server)
    yield watch
    eventually(lambda: watch.fds() <= watch.fds_before)
    growth = watch.peak_growth()
    assert growth <= growth_max, f"{growth / MB:.1f} MB more resident at the peak, {growth_max / MB:.1f} MB allowed"
