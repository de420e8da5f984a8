"""What tests and interop share: the server under test, the programs that a test needs, and how workers share tests."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator

import pytest

# So that a failing assertion of a helper shows its values; this must come before they are imported.
pytest.register_assert_rewrite("tests", "interop")

import tests.support.profile  # noqa: E402, F401
from interop.harness.servers import NameServer, RocketnsServer  # noqa: E402
from tests.behaviour.conftest import Names  # noqa: E402
from tests.support.needs import check  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file run in one worker, unless they name another group."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    check(name for mark in item.iter_markers("needs") for name in mark.args)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests that are coroutines."""
    return "asyncio"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last lines say what was not run, and why."""
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = Counter(str(one[2] if isinstance(one, tuple) else one).removeprefix("Skipped: ") for one in skipped)
    if reasons:
        terminalreporter.section(f"{reasons.total()} TESTS NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write("".join(f"{count:6} {reason}\n" for reason, count in reasons.most_common()))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """What the whole run cost, where it had workers."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        print(f"{sum(one.ru_utime + one.ru_stime for one in used):.0f} s of CPU")


@pytest.fixture(scope="session")
def server_class() -> type[NameServer]:
    """The server that tests of behaviour start."""
    return RocketnsServer


@pytest.fixture
def names() -> Names:
    """Names of a broker and its topics that no other test has."""
    return Names()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, object], object]:
    """Make a worker's report encodable as UTF-8: logs and assertions show hostile input."""
    return _encodable((yield))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return type(value)(map(_encodable, value))
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return value
