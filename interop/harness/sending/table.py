"""The table of clients: a test marked ``client`` is a row, whose result is the test's; written after a full run.

A test that shows several clients has several marks. The table is always printed; the file is written only when every
file of client scenarios was run whole against rocketns, so that a partial run never shortens it. Where several workers
run the tests, each of them knows the rows, and the process that they report to prints the table.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from pathlib import Path

import pytest

from interop.harness.sending.left_out import LEFT_OUT

MARK = "client(language, client, version, shows): a row of the table of clients"
HEAD = "| Language | Client | Version | Shown against a real broker | Result |\n|---|---|---|---|---|\n"
FILES = ("messages/test_clients_*.py", "access/test_*.py")


@dataclass(frozen=True)
class Row:
    """One client in one scenario."""

    language: str
    client: str
    version: str
    shows: str

    def line(self, result: str) -> str:
        return f"| {self.language} | {self.client} | {self.version} | {self.shows} | {result} |\n"


@dataclass(eq=False)  # pytest keeps its plugins in sets
class ClientTable:
    """A pytest plugin: rows from the marks of what was collected, results from the reports."""

    folder: Path
    written_to: Path
    complete: bool = True
    rows: dict[str, list[Row]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.complete = self.complete and not any(item.get_closest_marker("client") for item in items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            rows = [Row(**mark.kwargs) for mark in item.iter_markers("client")]
            if rows:
                self.rows[item.nodeid] = rows[::-1]  # the mark nearest to the function comes first
        collected = {item.path for item in session.items}
        wanted = {path for files in FILES for path in self.folder.glob(files)}
        self.complete = self.complete and wanted <= collected

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (told := getattr(session.config, "workeroutput", None)) is not None:
            rows = {test: [astuple(row) for row in rows] for test, rows in self.rows.items()}
            told["clients"] = {"complete": self.complete, "rows": rows}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """A worker has ended; a crashed one has no results."""
        told = getattr(node, "workeroutput", {}).get("clients", {"complete": False, "rows": {}})
        self.complete = self.complete and told["complete"]
        self.rows |= {test: [Row(*row) for row in rows] for test, rows in told["rows"].items()}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self.results[report.nodeid] = "passed" if report.passed else _said(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.results = {test: result for test, result in self.results.items() if test in self.rows}
        if not self.results:
            return
        terminalreporter.section("clients")
        terminalreporter.write(self.text())
        if self.complete and self.results.keys() == self.rows.keys():
            self.written_to.parent.mkdir(exist_ok=True)
            self.written_to.write_text(self.text(), "utf-8")

    def text(self) -> str:
        """Rows in a fixed order, then the clients without a row and why."""
        lines = [(row, self.results[test]) for test, rows in self.rows.items() for row in rows if test in self.results]
        lines.sort(key=lambda line: (line[0].language != "Java", line[0].language, line[0].client))
        notes = "".join(f"- {name}: {reason}\n" for name, reason in LEFT_OUT)
        return HEAD + "".join(row.line(result) for row, result in lines) + f"\nNot in the table:\n\n{notes}"


def _said(report: pytest.TestReport) -> str:
    """``failed``, or ``skipped`` with the reason given."""
    if not report.skipped:
        return "failed"
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return f"skipped ({reason.removeprefix('Skipped: ')})"
