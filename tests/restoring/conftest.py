"""Servers with a journal: real processes, and servers in this process whose clock the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.behaviour.conftest import Names
from tests.journal.files import PatientServer
from tests.support.inprocess import FakeClock, TimedServer


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., PatientServer]]:
    """A real process; its journal is in ``tmp_path / "j"``. No address of a test refuses connections by accident."""
    started: list[PatientServer] = []

    def run(**properties: object) -> PatientServer:
        settings = {"journalPath": tmp_path / "j", "journalNs": "n1", "rocketns.askUnconfirmed": "false"} | properties
        started.append(PatientServer(tmp_path / "ns", settings))
        return started[-1]

    yield run
    for server in started:
        server.kill()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., TimedServer]]:
    """A server in this process, with a journal in ``tmp_path / "j"``. `TimedServer.stop` is a clean stop.

    ``later_ms``: how much later than the server before, on both clocks.
    """
    started: list[TimedServer] = []
    clock = FakeClock()

    def run(later_ms: int = 0, **properties: object) -> TimedServer:
        clock.advance(later_ms)
        settings = {
            "journalPath": tmp_path / "j", "journalNs": "n1",
            "rocketns.askUnconfirmed": "false",
        }  # fmt: skip
        started.append(TimedServer(tmp_path, settings | properties, clock))
        return started[-1]

    yield run
    for server in started:
        if server.loop.is_running():
            server.stop()
