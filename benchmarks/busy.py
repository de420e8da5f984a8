"""Whether this machine is busy with other work, before a run and during each of its parts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Before a run: the load average over one minute, for each core. It stays high for a while after a build.
LOAD_MAX, LOAD_WAIT_S = 0.5, 120.0
# For IDLE_S this program is idle, and measures the share of all cores that others use and that the host takes.
IDLE_S, OTHERS_MAX, STEAL_MAX = 2.0, 0.05, 0.02
# Then it keeps every core busy for SPIN_S, and measures the share of that time in which the slowest process ran.
SPIN_S, GOT_MIN = 1.0, 0.90
# During a part: the same shares over a longer time, in which the kernel's own threads work as well.
OTHERS_DURING_MAX, STEAL_DURING_MAX = 0.10, 0.05
SPINNER = "import time; b = time.perf_counter(); c = time.process_time()\n" \
          f"while time.perf_counter() - b < {SPIN_S}: pass\n" \
          "print((time.process_time() - c) / (time.perf_counter() - b))"  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """The observations before a run. Shares are of all cores."""

    load: float
    cores: int
    others: float
    steal: float
    got: float

    def complaints(self) -> list[str]:
        """Why this machine is busy; empty if it is not."""
        checks = {
            f"the load average is {self.load:.2f}, more than {LOAD_MAX:g} a core": self.load > LOAD_MAX * self.cores,
            f"other processes use {self.others:.1%} of the CPU, more than {OTHERS_MAX:.0%}": self.others > OTHERS_MAX,
            f"the host takes {self.steal:.1%} of the CPU away, more than {STEAL_MAX:.0%}": self.steal > STEAL_MAX,
            f"a busy process gets {self.got:.1%} of a core, less than {GOT_MIN:.0%}": self.got < GOT_MIN,
        }
        return [text for text, holds in checks.items() if holds]


@dataclass(frozen=True)
class Ticks:
    """/proc/stat in seconds since boot, and the CPU time of this program and its ended children."""

    used: float
    steal: float
    at: float
    own: float

    @classmethod
    def now(cls) -> Ticks:
        fields = [int(field) for field in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:]]
        second = os.sysconf("SC_CLK_TCK")
        user, nice, system, steal = fields[0], fields[1], fields[2], fields[7]
        own = sum(
            usage.ru_utime + usage.ru_stime
            for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )
        return cls((user + nice + system) / second, steal / second, time.monotonic(), own)

    def shares_since(self, before: Ticks) -> tuple[float, float]:
        """Of all cores: what other processes used, and what the host took. Own children must have ended."""
        span = (self.at - before.at) * (os.cpu_count() or 1)
        others = (self.used - before.used) - (self.own - before.own)
        return max(0.0, others / span), (self.steal - before.steal) / span


def disturbed(others: float, steal: float) -> str:
    """Why a part was disturbed; empty if it was not."""
    if others > OTHERS_DURING_MAX:
        return f"other processes used {others:.1%} of the CPU, more than {OTHERS_DURING_MAX:.0%}"
    return f"the host took {steal:.1%} of the CPU, more than {STEAL_DURING_MAX:.0%}" if steal > STEAL_DURING_MAX else ""


def look(say: Callable[[str], None], wait_s: float = LOAD_WAIT_S) -> Machine:
    """Observe the machine for some seconds. First wait at most ``wait_s`` for the load average to fall."""
    cores = os.cpu_count() or 1
    deadline = time.monotonic() + wait_s
    while os.getloadavg()[0] > LOAD_MAX * cores and time.monotonic() < deadline:
        say(f"waiting for the load average, {os.getloadavg()[0]:.2f}, to fall to {LOAD_MAX * cores:g}")
        time.sleep(10)
    load, before = os.getloadavg()[0], Ticks.now()
    time.sleep(IDLE_S)
    others, steal = Ticks.now().shares_since(before)
    spinners = [subprocess.Popen([sys.executable, "-c", SPINNER], stdout=subprocess.PIPE, text=True)
                for _ in range(cores)]  # fmt: skip
    got = min(float(spinner.communicate()[0]) for spinner in spinners)
    return Machine(load, cores, others, steal, got)
