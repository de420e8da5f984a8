"""``python -m tests.check``: the missing steps of all recipes in CONTRIBUTING.md. `make check` runs these tests too."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest

STEPS = (
    "tests/check/documents/test_recipes.py",  # request codes, scenarios
    "tests/check/test_properties.py",
    "tests/check/code/test_events.py",
    "tests/journal/records/test_kinds.py",  # events with a record
    "tests/check/code/test_messages.py",
    "tests/check/metrics/test_steps.py",
    "tests/check/test_rows.py",
    "tests/pipeline/contract/test_catalogue.py",  # jobs of the audit
    "tests/pipeline/contract/test_steps.py",
    "tests/pipeline/cli/test_audit_docs.py::test_the_page_of_tables_is_current",
    "interop/parity/test_differences.py",
)


class Missing:
    """The message of each test that fails, and of each file that cannot be imported."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Such as a request code without a row: nothing starts."""
        if report.failed:
            self.steps.append(report.longreprtext.rpartition("\nE  ")[2].strip())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the message without the lines that explain the assertion."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else report.longreprtext
            self.steps.append(text.partition("\nassert ")[0].removeprefix("AssertionError: ").removeprefix("Failed: "))


missing = Missing()
with redirect_stdout(StringIO()):
    status = pytest.main(["-n", "0", "--continue-on-collection-errors", *STEPS], plugins=[missing])
print("\n".join(dict.fromkeys(missing.steps)) or "No step is missing.")
sys.exit(status)
