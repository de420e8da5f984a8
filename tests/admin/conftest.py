"""A real server with a management port, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.ports import free_port
from rocketns.admin import view
from rocketns.admin.metrics import exposition
from rocketns.admin.starting import make_admin
from tests.admin.http import Http
from tests.admin.scraping import Scraped
from tests.behaviour.conftest import Names
from tests.support.inprocess import TimedServer


class Managed(TimedServer):
    """A running server. ``http`` asks its management port."""

    def __init__(self, home: Path, properties: dict[str, object] | None = None, log: view.Log | None = None) -> None:
        port = free_port()
        self._log = log
        super().__init__(home, {"rocketns.adminPort": port} | (properties or {}))
        self.http = Http(port)

    def scrape(self) -> Scraped:
        return Scraped(self.http.ask("/metrics").text)

    async def _start(self) -> None:
        self.admin = make_admin(self.controller.facts, log=self._log)
        assert self.admin is not None
        self.admin.start()
        await super()._start()

    def stop(self) -> None:
        assert self.admin is not None
        asyncio.run_coroutine_threadsafe(self._stop_admin(), self.loop).result(10)
        super().stop()

    async def _stop_admin(self) -> None:
        assert self.admin is not None
        self.admin.stop()


@pytest.fixture
def start_managed(tmp_path: Path) -> Iterator[Callable[..., Managed]]:
    """Start a server with these properties; it is stopped after the test."""
    started: list[Managed] = []

    def start(properties: dict[str, object] | None = None) -> Managed:
        started.append(Managed(tmp_path, properties))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def managed(start_managed: Callable[..., Managed]) -> Managed:
    return start_managed()


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def no_old_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scrape shows everything that happened before it."""
    monkeypatch.setattr(exposition, "TEXT_AGE_S", 0.0)
    monkeypatch.setattr(view, "COPY_AGE_S", 0.0)
