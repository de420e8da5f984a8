"""What `make test` leaves to `make test-all`: folders and files by this table, single tests by ``pytest.mark.rest``.

Either way the marker ``rest`` has a text: what the tests do. The end of `make test` names each text with its count.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

LEAVES_OUT = "not rest"
# The beginning of a test's id → what those tests do.
REST = {
    "tests/sanitize/test_share.py": "sanitizers",
}


def why_later(test: str) -> str | None:
    """What the table says of a test, by its id."""
    return next((what for start, what in REST.items() if test.startswith(start)), None)


class Rest:
    """A pytest plugin. Workers count what they leave out; the process that they report to prints it."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if what := why_later(item.nodeid):
                item.add_marker(pytest.mark.rest(what))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        markers = [marker for item in items if (marker := item.get_closest_marker("rest"))]
        self.left_out.update(marker.args[0] for marker in markers)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["rest"] = dict(self.left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Every worker collects the same tests."""
        self.left_out = Counter(getattr(node, "workeroutput", {}).get("rest")) or self.left_out

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if self.left_out and config.option.markexpr == LEAVES_OUT:
            title = f"{self.left_out.total()} TESTS LEFT OUT; make test-all runs them too"
            terminalreporter.section(title, sep="!", red=True, bold=True)
            lines = (f"{count:6} {what}\n" for what, count in sorted(self.left_out.items()))
            terminalreporter.write("".join(lines))
