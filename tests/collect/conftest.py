"""Virtual time for tests that are coroutines, and a disk that may be slow."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rocketns.journal import journal
from tests.collect.virtual import Bench, VirtualTime, script


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals end on any disk, however slow it is: nothing here depends on when."""
    monkeypatch.setattr(journal, "STOP_WITHIN_S", 60.0)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": VirtualTime}


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """It watches while the test runs."""
    async with Bench(script()) as watching:
        yield watching
