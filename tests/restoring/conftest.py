"""Servers with a journal: real processes, and servers in this process whose clock the test moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.files import PatientServer
from tests.support.inprocess import FakeClock, TimedServer
from tests.support.starting import stopped_after


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    """The journal is in ``tmp_path / "j"``. No address of a test refuses connections by accident."""
    return {"journalPath": tmp_path / "j", "journalNs": "n1", "rocketns.askUnconfirmed": "false"}


@pytest.fixture
def start(tmp_path: Path, settings: dict[str, object], request: pytest.FixtureRequest) -> Callable[..., PatientServer]:
    """A real process; its journal is in ``tmp_path / "j"``."""
    return stopped_after(request, lambda **given: PatientServer(tmp_path / "ns", settings | given))


@pytest.fixture
def serve(tmp_path: Path, settings: dict[str, object], request: pytest.FixtureRequest) -> Callable[..., TimedServer]:
    """A server in this process, with a journal in ``tmp_path / "j"``. `TimedServer.stop` is a clean stop.

    ``later_ms``: how much later than the server before, on both clocks.
    """
    clock = FakeClock()

    def start(later_ms: int = 0, **properties: object) -> TimedServer:
        clock.advance(later_ms)
        return TimedServer(tmp_path, settings | properties, clock)

    return stopped_after(request, start)
