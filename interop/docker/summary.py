"""What a run says at its end about the tests with containers: how long they took, or why they were left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

LEFT_OUT = "docker left out, no container is run: "


def docker_left_out(reporter: pytest.TerminalReporter) -> str:
    """The reason of the first test that was skipped for it; nothing if none was."""
    return why_left_out(reporter, LEFT_OUT)


def why_left_out(reporter: pytest.TerminalReporter, beginning: str) -> str:
    """The first reason with this beginning for which a test was skipped; nothing if none was."""
    texts = (str(report.longrepr) for report in reporter.stats.get("skipped", []))
    found = (re.search(f"{beginning}[^'\")]*", text) for text in texts)
    return next((match[0] for match in found if match), "")


def docker_seconds(reporter: pytest.TerminalReporter) -> float:
    """The time of all setups, tests and teardowns. They run in one process, one after the other."""
    return sum(report.duration for report in _reports(reporter, "", "passed", "failed", "error"))


def _reports(reporter: pytest.TerminalReporter, *kinds: str) -> Iterator[pytest.TestReport]:
    for kind in kinds:
        for report in reporter.stats.get(kind, []):
            if getattr(report, "nodeid", "").startswith("interop/docker/"):
                yield report
