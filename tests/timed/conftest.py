"""Servers whose clock stands still until a test moves it, on real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.behaviour.conftest import Names
from tests.support.inprocess import TimedServer

TimedServerFactory = Callable[..., TimedServer]


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def reactors() -> int:
    """How many reactor threads the servers have."""
    return 2


@pytest.fixture
def timed_server(tmp_path: Path, reactors: int) -> Iterator[TimedServerFactory]:
    """Start a server: ``timed_server(scanNotActiveBrokerInterval=1000)``; stopped after the test."""
    started: list[TimedServer] = []

    def start(**properties: object) -> TimedServer:
        home = tmp_path / f"ns{len(started)}"
        home.mkdir()
        started.append(TimedServer(home, {"rocketns.reactors": reactors} | properties))
        return started[-1]

    yield start
    for server in started:
        if server.loop.is_running():  # the test did not stop it
            server.stop()
