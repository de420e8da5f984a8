"""Servers whose clock stands still until a test moves it, on real sockets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.inprocess import TimedServer
from tests.support.starting import stopped_after

TimedServerFactory = Callable[..., TimedServer]


@pytest.fixture
def reactors() -> int:
    """How many reactor threads the servers have."""
    return 2


@pytest.fixture
def timed_server(
    tmp_path_factory: pytest.TempPathFactory, reactors: int, request: pytest.FixtureRequest
) -> TimedServerFactory:
    """Start a server: ``timed_server(scanNotActiveBrokerInterval=1000)``; stopped after the test."""
    own = {"rocketns.reactors": reactors}
    return stopped_after(request, lambda **given: TimedServer(tmp_path_factory.mktemp("ns"), own | given))
