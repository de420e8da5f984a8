"""What a run says at its end: its slowest tests, what each folder cost, and what was left out and why."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import PurePath

import pytest

SLOWEST = 20
SLOW_S = 1.0


def cpu_s() -> float:
    """CPU time of this process and of the processes that it has started and waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


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
    tests: defaultdict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))
    left_out: Counter[str] = field(default_factory=Counter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the CPU time since the last report: that of one phase of one test."""
        report = yield
        now_s = cpu_s()
        report.cpu_s = now_s - self.before_s  # type: ignore[attr-defined]
        self.before_s = now_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid].add(report.when == "setup", report.duration, getattr(report, "cpu_s", 0.0))
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


def reason_of(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    return str(said).removeprefix("Skipped: ")
