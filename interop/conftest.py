"""Fixtures of the scenarios with real brokers. All of them but one are run by `make test-all` alone."""

from __future__ import annotations

import contextlib
import functools
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from interop.harness.rocketmq.classes import compiled
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.keeping import keep
from interop.harness.rocketmq.maven import missing_tools
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.programs import Program
from interop.harness.servers import NameServer
from tests.support.needs import found

# Against hangs only.
SCENARIO_TIMEOUT_S = 900
HERE = Path(__file__).parent
PARITY = HERE / "parity"
# `make test` has one real broker with a producer and a consumer.
IN_MAKE_TEST = HERE / "messages" / "test_send_and_receive.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _has_processes(item):
            item.add_marker(pytest.mark.needs("java", "javac", "mvn"))
            if item.path != IN_MAKE_TEST:
                item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:  # that of a module would count less than this one
                item.add_marker(pytest.mark.timeout(SCENARIO_TIMEOUT_S))


def _has_processes(item: pytest.Item) -> bool:
    """Whether it starts Java. Parity is also replayed from recorded answers."""
    return item.path.is_relative_to(HERE) and not item.path.is_relative_to(PARITY)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Fetch and build what the tests of a file need before the first of them, so that it counts against no test's time.
    No earlier, for all workers would wait until the last program is built."""
    if _has_processes(item) and not missing_tools():
        _prepare_java()
        _build_clients(item.session, item.path)
    return (yield)


@functools.cache
def _prepare_java() -> None:
    """Archive the classes that Java programs load, which more than a hundred starts use."""
    for version in (CURRENT, OLD):
        compiled(version)
        keep(version)


@functools.cache
def _build_clients(session: pytest.Session, file: Path) -> None:
    """Run the ``build`` of this module, and build the programs of its tests. A failure here repeats in the test that
    needs the program."""
    items = [item for item in session.items if item.path == file]
    builds = [build for item in items[:1] if (build := getattr(getattr(item, "module", None), "build", None))]
    programs = [item.callspec.params.get("program") for item in items if hasattr(item, "callspec")]
    builds += [p.prepare for p in programs if isinstance(p, Program) and all(map(found, p.tools))]
    for build in builds:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            build()


@pytest.fixture
def fleet(server_class: type[NameServer], tmp_path: Path) -> Iterator[Fleet]:
    """Starts name servers, brokers and clients; killed after the test."""
    with Fleet(server_class, tmp_path) as started:
        yield started
