"""What fixtures give that start servers: each server is stopped after the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest

from interop.harness.servers import NameServer
from tests.support.inprocess import TimedServer

Given = ParamSpec("Given")
Started = TypeVar("Started", bound=NameServer | TimedServer)


def stopped_after(request: pytest.FixtureRequest, start: Callable[Given, Started]) -> Callable[Given, Started]:
    """``start``, whose servers end with the fixture that asks."""

    def started(*arguments: Given.args, **named: Given.kwargs) -> Started:
        server = start(*arguments, **named)
        request.addfinalizer(server.stop)
        return server

    return started
