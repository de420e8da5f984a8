"""No test begins after a moment that CI names, so that a run on a slow machine ends, too; it names what it left out."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath

import pytest

from tests.support.running.summary import print_left_out, reason_of

# The name of a variable of the environment: seconds since 1970, as `date +%s` prints them.
UNTIL = "ROCKETNS_TESTS_UNTIL"
REASON = f"the time of this run is over ({UNTIL})"


class Until:
    """A pytest plugin. Workers skip; the process that they report to counts and prints."""

    def __init__(self, until_s: float) -> None:
        self.until_s = until_s
        self.left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        os.environ.pop(UNTIL, None)  # tests that a test runs are its own matter
        if time.time() >= self.until_s:
            pytest.skip(REASON)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and reason_of(report) == REASON:
            self.left_out[str(PurePath(report.nodeid.partition("::")[0]).parent)] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            title = f"{self.left_out.total()} TESTS LEFT OUT: {REASON}"
            print_left_out(terminalreporter, title, self.left_out)


def until_of(environment: Mapping[str, str]) -> Until:
    """Without an end where the environment names none."""
    return Until(float(environment.get(UNTIL, "inf")))
