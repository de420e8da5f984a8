"""The summary of a run: its slowest tests, the cost of each folder, and what was left out and why."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import pytest

SLOWEST = 10
SLOW_S = 1.0
# Reading the CPU time takes a millisecond and more where a Java process has started threads; most tests take less.
READ_EVERY_S = 0.1
# Of /proc/PID/stat after the name: user, system, and both of the children that were waited for, in ticks.
TIMES = slice(11, 15)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# CPU seconds so far of what others run for this process: a Docker engine its containers.
ELSEWHERE: list[Callable[[], float]] = []


def cpu_s() -> float:
    """CPU time of this process and of all that it has started, whether they still run (Spark's Java process does until
    the end) or were waited for, and of what others run for it."""
    times = os.times()
    running = sum(map(_ticks, _descendants(os.getpid()))) / TICKS_PER_S
    own = times.user + times.system + times.children_user + times.children_system
    return own + running + sum(used_s() for used_s in ELSEWHERE)


def _descendants(pid: int) -> Iterator[int]:
    """From the kernel's lists of children: psutil reads all processes of the machine, and each phase of a test asks."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(file).split():
            yield int(child)
            yield from _descendants(int(child))


def _ticks(pid: int) -> int:
    return sum(map(int, _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[TIMES]))


def _read(file: Path) -> str:
    """Nothing where the process has ended by now."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


@dataclass
class Cost:
    """Seconds by the clock and of CPU time."""

    tests: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def add(self, tests: int, wall_s: float, cpu_s: float) -> None:
        self.tests, self.wall_s, self.cpu_s = self.tests + tests, self.wall_s + wall_s, self.cpu_s + cpu_s

    def __str__(self) -> str:
        return f"{self.wall_s:8.1f} s {self.cpu_s:8.1f} s CPU"


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Summary:
    """A pytest plugin. Workers measure the CPU time; the process that they report to prints."""

    before_s: float = field(default_factory=cpu_s)
    read_s: float = field(default_factory=time.monotonic)
    began_s: float = field(default_factory=time.time)
    last_s: dict[str, float] = field(default_factory=dict)
    tests: defaultdict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))
    left_out: Counter[str] = field(default_factory=Counter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the CPU time since it was read last. Where several quick phases ended since then, the last one has it."""
        report = yield
        if time.monotonic() - self.read_s < READ_EVERY_S:
            return report
        now_s = cpu_s()
        # Less than before, where a process has ended that nobody waited for.
        report.cpu_s = max(0.0, now_s - self.before_s)  # type: ignore[attr-defined]
        self.before_s, self.read_s = now_s, time.monotonic()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid].add(report.when == "setup", report.duration, getattr(report, "cpu_s", 0.0))
        self.last_s[getattr(report, "worker_id", "")] = report.stop
        if report.skipped:
            self.left_out[reason_of(report)] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for title, lines in self.sections().items():
            if lines:
                terminalreporter.section(title)
                terminalreporter.write("".join(f"{line}\n" for line in lines))

    def sections(self) -> dict[str, list[str]]:
        """Title → lines. A test's first use of a shared server counts its start."""
        slowest = sorted(self.tests.items(), key=lambda one: -one[1].wall_s)[:SLOWEST]
        return {
            "folders": self._folders(),
            "workers": self._workers(),
            "slowest tests": [f"{cost}  {test}" for test, cost in slowest if cost.wall_s >= SLOW_S],
            "left out": [f"{count} tests: {reason}" for reason, count in self.left_out.most_common()],
        }

    def _folders(self) -> list[str]:
        """What each folder cost, where there are several."""
        folders: defaultdict[str, Cost] = defaultdict(Cost)
        for test, cost in self.tests.items():
            folder = PurePath(test.partition("::")[0]).parent
            folders["/".join(folder.parts[:2])].add(cost.tests, cost.wall_s, cost.cpu_s)
        dearest = sorted(folders.items(), key=lambda one: -one[1].cpu_s)
        return [f"{cost} {cost.tests:6} tests  {name}" for name, cost in dearest] if len(folders) > 1 else []

    def _workers(self) -> list[str]:
        """Whether the cores or the tests were what a run of several workers waited for."""
        if len(self.last_s) < 2:
            return []
        end_s, used_s = max(self.last_s.values()), sum(cost.cpu_s for cost in self.tests.values())
        idle = " ".join(f"{worker} {end_s - last_s:.0f}" for worker, last_s in sorted(self.last_s.items()))
        had = f"{os.cpu_count()} cores for {end_s - self.began_s:.0f} s"
        return [f"{used_s:.0f} s CPU of {had}", f"seconds without a test at the end: {idle}"]


def reason_of(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    return str(said).removeprefix("Skipped: ")


def print_left_out(reporter: pytest.TerminalReporter, title: str, counts: Mapping[str, int]) -> None:
    """How many tests of each kind a run left out, in red."""
    reporter.section(title, sep="!", red=True, bold=True)
    reporter.write("".join(f"{count:6} {kind}\n" for kind, count in sorted(counts.items())))
