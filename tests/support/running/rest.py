"""What `make test` leaves to `make test-all`: folders and files by this table, single tests by ``pytest.mark.rest``.

Either way the marker ``rest`` has a text: what the tests do. The end of `make test` names each text with its count.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.running.summary import print_left_out

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

LEAVES_OUT = "not rest"
# The beginning of a test's id → what those tests do.
REST = {
    "tests/sanitize/test_share.py": "sanitizers",
    "tests/hostile/test_stranger.py": "a stranger with every attack of a seed",
    "tests/hostile/outputs/": "what each byte of a stranger may become",
    "tests/restoring/odd/test_histories.py::test_all_answers_of_a_killed_process": "random histories of killed servers",
    "tests/soak/test_long.py": "a soak that moves and restarts servers",
    "tests/installing/": "sdist, wheel and Helm chart",
    "tests/admin/page/test_large_fleet.py": "pages in a browser",
    "tests/admin/page/test_page.py": "pages in a browser",
    "tests/admin/page/test_troubles.py": "pages in a browser",
    "tests/admin/page/test_other_origins.py": "pages in a browser",
    "tests/documentation/test_site.py": "pages in a browser",
    "tests/pipeline/report/shown/test_report_browser.py": "pages in a browser",
    "tests/admin/metrics/test_prometheus.py": "Prometheus and Alertmanager",
    "tests/pipeline/storage/test_alertmanager.py": "Prometheus and Alertmanager",
    "tests/pipeline/batch/cluster/": "the audit on a cluster, of a live fleet, in S3",
    "tests/pipeline/batch/live/": "the audit on a cluster, of a live fleet, in S3",
    "tests/pipeline/elsewhere/": "the audit on a cluster, of a live fleet, in S3",
    "interop/access/": "real brokers and clients",
    "interop/brokers/": "real brokers and clients",
    "interop/collecting/": "real brokers and clients",
    "interop/doctor/": "real brokers and clients",
    "interop/messages/": "real brokers and clients",
    "interop/operating/": "real brokers and clients",
    "interop/outages/": "real brokers and clients",
    "interop/shadowing/": "real brokers and clients",
    "interop/test_": "real brokers and clients",
    "interop/docker/": "containers",
    "interop/parity/test_mutations.py": "more parity: other forms, planted differences, random sequences",
}
# Of tests in these folders that run in both modes, `make test` has the one with reactors. It plays parity in both.
BOTH_MODES = ("tests/behaviour/", "tests/hostile/", "tests/golden/")
WITHOUT_REACTORS = "behaviour, golden bytes and attacks without reactors"
# `make test` runs these of them all the same.
SHARE = (
    "interop/access/test_keys.py::test_signed_clients_use_a_broker_that_signs[reactors]",
    "interop/docker/test_image.py::test_user_and_folders_are_those_of_rocketmqs_image",
    "interop/messages/test_send_and_receive.py::test_each_of_1000_messages_arrives_exactly_once[reactors]",
)
MORE_PARITY = REST["interop/parity/test_mutations.py"]


def why_later(test: str) -> str | None:
    """What the table says of a test, by its id."""
    if test.startswith(SHARE):
        return None
    other_mode = WITHOUT_REACTORS if test.startswith(BOTH_MODES) and "[asyncio" in test else None
    return next((what for start, what in REST.items() if test.startswith(start)), other_mode)


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
            print_left_out(terminalreporter, title, self.left_out)
