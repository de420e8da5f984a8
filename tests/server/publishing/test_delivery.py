"""An error while events are delivered costs neither the answer nor the next request, in both transports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketns.processor.client import is_ready
from rocketns.server.publishing import delivery
from rocketns.server.publishing.publisher import Publisher
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, registered
from tests.behaviour.views import group, route
from tests.support.inprocess import TimedServer


@pytest.fixture(params=[0, 1], ids=["asyncio", "reactors"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TimedServer]:
    started = TimedServer(tmp_path, {"rocketns.reactors": request.param})
    yield started
    started.stop()


def fail(*_: object) -> None:
    raise ArithmeticError("planted")


def test_a_change_that_cannot_be_published_is_answered_by_control(
    server: TimedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the error control answers all lookups from the tables."""
    names, later = Names(), Names()
    with server.connect() as client:
        client.socket.settimeout(60)
        monkeypatch.setattr(Publisher, "publish", fail)
        registered(client, names)
        heartbeat(client, names)
        monkeypatch.undo()
        registered(client, later)
        assert route(client, names.topic("T"))
        assert route(client, later.topic("T"))
        assert group(client, names.broker) is not None
    context = server.controller.core.context
    assert is_ready(context, server.clock.now())
    assert context.registration_reader is None


def test_a_change_that_cannot_be_logged_is_answered(server: TimedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    with server.connect() as client:
        client.socket.settimeout(60)
        monkeypatch.setattr(delivery, "log_events", fail)
        registered(client, names)
        assert route(client, names.topic("T"))
        assert server.controller.core.context.registration_reader is not None
