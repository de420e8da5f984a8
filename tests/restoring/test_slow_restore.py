"""If restoring takes longer than a second, lookups get SYSTEM_ERROR and all other requests wait."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.wire import Client, eventually
from rocketns import first_routes
from rocketns.journal.restore import restoring
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.journal.files import records_of
from tests.support.inprocess import TimedServer


def test_lookups_are_answered_and_registrations_wait(
    serve: Callable[..., TimedServer], names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never TOPIC_NOT_EXIST. The slave whose registration waited gets its master's address."""
    server = serve()
    with server.connect() as client:
        registered(client, names)
        server.stop()
    may_end, real, port = threading.Event(), restoring.restore, free_port()

    def slow_restore(*given: object) -> object:
        server.clock.advance(1_500)  # so that the jobs of the first second run before requests are read
        may_end.wait(60)
        return real(*given)

    monkeypatch.setattr(first_routes, "UNHEARD_S", 1.2)
    monkeypatch.setattr(restoring, "restore", slow_restore)
    with ThreadPoolExecutor(3) as others:
        starting = others.submit(serve, listenPort=port)
        eventually(lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
        with Client(port) as asking, Client(port) as slave:
            assert ask_route(asking, names.topic()).code == codes.SYSTEM_ERROR
            assert ask_route(asking, "unknown").code == codes.SYSTEM_ERROR
            waiting = others.submit(registered, slave, names, host=2, broker_id=1)
            assert ask_route(asking, names.topic()).code == codes.SYSTEM_ERROR
            assert not waiting.done()
            may_end.set()
            starting.result(60)
            assert waiting.result(60).ext["masterAddr"] == names.addr()
            assert ask_route(asking, names.topic()).code == 0
            assert ask_route(asking, "unknown").code == codes.TOPIC_NOT_EXIST


def test_the_journal_begins_when_the_server_serves(
    serve: Callable[..., TimedServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not the time when the restore began: comparisons of name servers trust its tables from the start record on."""
    real = restoring.restore

    def slow_restore(*given: object) -> object:
        server.clock.advance(900)
        return real(*given)

    server = serve()
    began_ms = server.clock.now().epoch_ms
    server.stop()
    monkeypatch.setattr(restoring, "restore", slow_restore)
    serve().stop()
    starts = [one["ts"] for one in records_of(tmp_path / "j") if one["ev"] == "start"]
    assert starts == [began_ms * 1000, (began_ms + 900) * 1000]
