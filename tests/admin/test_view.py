"""How handlers get data from control."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from rocketns.admin import view as views
from rocketns.admin.view import Busy, ControlView, repeat
from rocketns.server.facts import Facts
from tests.admin.conftest import Managed

T = TypeVar("T")

made: list[int] = []


def rows(_: Facts) -> Iterator[int | None]:
    """A copy in many steps, each of which takes a while. Every second one makes a row."""
    made.append(0)
    for number in range(3000):
        sum(range(100))
        yield number if number % 2 else None
        made[-1] += 1


@pytest.fixture
def ask(managed: Managed) -> Callable[[Callable[[ControlView], Coroutine[Any, Any, T]]], T]:
    def run(question: Callable[[ControlView], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            return await question(ControlView(managed.controller.facts, managed.loop))

        made.clear()
        return asyncio.run(main())

    return run


Ask = Callable[[Callable[[ControlView], Coroutine[Any, Any, Any]]], Any]


def test_a_copy_is_made_once_for_all_who_ask_at_the_same_time_and_soon_after(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "COPY_AGE_S", 60.0)

    async def question(view: ControlView) -> list[tuple[int, ...]]:
        return [*await asyncio.gather(*(view.copy(rows) for _ in range(10))), await view.copy(rows)]

    assert ask(question) == [tuple(range(1, 3000, 2))] * 11
    assert made == [3000]


def test_a_copy_that_rests_is_shared_as_many_times_as_long_as_it_took(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "COPY_AGE_S", 0.0)

    async def question(view: ControlView) -> None:
        await view.copy(rows, 1_000_000)
        await asyncio.sleep(0)
        await view.copy(rows, 1_000_000)

    ask(question)
    assert made == [3000]


def test_rows_that_are_read_are_made_for_each_who_asks(ask: Ask) -> None:
    async def question(view: ControlView) -> list[tuple[int, ...]]:
        return [await view.read(rows), await view.read(rows)]

    assert ask(question) == [tuple(range(1, 3000, 2))] * 2
    assert made == [3000] * 2


def test_control_goes_on_between_the_slices_of_a_copy(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice of zero time has one step, so a read of one comes long before the last of 3000 steps."""
    monkeypatch.setattr(views, "SLICE_MS", 0.0)

    async def question(view: ControlView) -> int:
        copy = asyncio.ensure_future(view.copy(rows))
        while not made or not made[-1]:
            await asyncio.sleep(0)
        (seen,) = await view.read(lambda _: iter(made[-1:]))
        copy.cancel()
        return seen

    assert 0 < ask(question) < 3000


def test_a_control_thread_that_hangs_makes_handlers_busy_not_hang(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "COPY_WITHIN_S", 0.2)
    goes_on = threading.Event()
    managed.loop.call_soon_threadsafe(goes_on.wait, 60)

    async def question(view: ControlView) -> list[Any]:
        reads = [view.read(rows) for _ in range(views.READS_MAX + 1)]
        return list(await asyncio.gather(view.copy(rows), *reads, return_exceptions=True))

    try:
        answers = ask(question)
    finally:
        goes_on.set()
    assert [type(one) for one in answers] == [Busy] * (views.READS_MAX + 2)
    assert ["64 requests wait" in str(one) for one in answers[-2:]] == [False, True]


async def test_what_is_repeated_goes_on_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    results = iter((Busy("later"), ValueError("never thought of"), asyncio.CancelledError()))

    async def step() -> None:
        raise next(results)

    with pytest.raises(asyncio.CancelledError):
        await repeat(0.0, step)
    assert [record.message for record in caplog.records] == ["management port: what is done every 0 s failed"]
