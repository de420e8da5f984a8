"""Virtual time for tests that are coroutines, and a disk that may be slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext

import pytest

from rocketns.journal import journal
from tests.collect.virtual import Bench, VirtualTime, script


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals end on any disk, however slow it is: nothing here depends on when."""
    monkeypatch.setattr(journal, "STOP_WITHIN_S", 60.0)


@pytest.fixture
def bench() -> Bench:
    """It watches while the test runs."""
    return Bench(script())


@pytest.fixture(autouse=True)
def run_coroutine(request: pytest.FixtureRequest) -> Callable[[Coroutine[None, None, None]], None]:
    watching = request.getfixturevalue("bench") if "bench" in request.fixturenames else nullcontext()

    async def beside(test: Coroutine[None, None, None]) -> None:
        async with watching:
            await test

    def run(test: Coroutine[None, None, None]) -> None:
        with asyncio.Runner(loop_factory=VirtualTime) as runner:
            runner.run(beside(test))

    return run
