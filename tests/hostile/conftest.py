"""rocketns processes for tests that attack them."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from interop.harness.servers import NameServer
from tests.support.live import LiveServer
from tests.support.starting import stopped_after

StartServer = Callable[..., NameServer]
StartLive = Callable[..., LiveServer]
ADDRESS_SPACE_MAX = 3 << 30
# Only bytes close a connection: on a busy machine the time limit would close those that a test keeps waiting.
NO_TIME_LIMIT: dict[str, object] = {"rocketns.progressSeconds": 0}


@pytest.fixture
def start_server(server_class: type[NameServer], tmp_path: Path, request: pytest.FixtureRequest) -> StartServer:
    """Start a rocketns: ``start_server({"rocketns.connectionsMax": 10})``; stopped after the test."""
    homes = (tmp_path / f"ns{number}" for number in itertools.count())

    def start(properties: dict[str, object] | None = None, **more: object) -> NameServer:
        server = server_class(next(homes), properties, **more)  # type: ignore[arg-type]
        spare_the_machine(server)
        return server

    return stopped_after(request, start)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[StartLive]:
    """Start a server in this process, whose counters tests can read: ``live({"rocketns.connectionsMax": 10})``."""
    with ExitStack() as stack:
        yield lambda properties, **more: stack.enter_context(LiveServer(tmp_path, **properties, **more))


@pytest.fixture
def server(start_server: StartServer) -> NameServer:
    """A server with default settings."""
    return start_server()


@pytest.fixture(scope="module")
def shared_server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """A server for all tests of a file. At the end, none of them may have caused an unexpected error."""
    started = server_class(tmp_path_factory.mktemp("shared"))
    spare_the_machine(started)
    yield started
    assert started.stop() == 0
    assert_nothing_unforeseen(started)


def spare_the_machine(server: NameServer) -> None:
    """A server that allocates without end reaches this limit before it harms the machine."""
    psutil.Process(server.pid).rlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_MAX, ADDRESS_SPACE_MAX))


def assert_nothing_unforeseen(stopped: NameServer) -> None:
    """No stack in the log of a server that has ended (while it runs, its log may lag behind)."""
    log = stopped.process.text()
    at = log.find("Traceback")
    assert at < 0, log[max(0, at - 1_000) : at + 4_000]


@pytest.fixture
def open_files_max() -> Iterator[int]:
    """The number of descriptors this process may have, raised to the hard limit during the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
