"""What handlers see of the name server. Nothing here waits for control, and control never waits for a handler.

Three ways, from cheap to expensive:

* `ControlView.facts`: its numbers may be read on any thread. A number is a property, a `len`, or one of the reactors'
  atomic words. Never iterate over a table of control's: it changes meanwhile.
* `ControlView.read`: the rows of a generator that control runs in slices of SLICE_MS, with a pause after each. A row
  never changes again: it is of strings, numbers, tuples, frozen dataclasses. Between two rows the tables may change, so
  the generator reads the keys first, and looks each one up again. Where it makes no row for long, it yields None.
* `ControlView.copy`: the same, of a generator that all share who ask within COPY_AGE_S.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from rocketns.admin.tokens import AdminGate
from rocketns.server.facts import Facts

log = logging.getLogger("rocketns.admin")

BEAT_S = 0.25
T = TypeVar("T")
SLICE_MS = 1.0
PAUSE_S = 0.002
COPY_AGE_S = 1.0
# Then the handler answers 503. Control may be busy with a registration for a second.
COPY_WITHIN_S = 5.0
READS_MAX = 64


class Log(Protocol):
    """The log writer's numbers; any thread may read them."""

    dropped_total: int

    @property
    def waiting(self) -> int: ...


Copier = Callable[[Facts], Iterator[T | None]]


class Busy(Exception):
    """Control did not answer in time, or too many handlers wait for it."""


async def repeat(period_s: float, step: Callable[[], Awaitable[None]]) -> None:
    """Call ``step`` after each period, for ever. After a failure the next one goes on; an unforeseen one is logged."""
    while True:
        await asyncio.sleep(period_s)
        try:
            await step()
        except Busy:
            continue
        except Exception:
            log.exception("management port: what is done every %g s failed", period_s)


async def _in_slices(rows: Iterator[T | None]) -> tuple[T, ...]:
    """Control only."""
    made: list[T] = []
    ends_s = time.perf_counter() + SLICE_MS / 1000
    for row in rows:
        if row is not None:
            made.append(row)
        if time.perf_counter() >= ends_s:
            await asyncio.sleep(PAUSE_S)
            ends_s = time.perf_counter() + SLICE_MS / 1000
    return tuple(made)


class ControlView:
    """Its methods are for the loop of the management port, but `beat`."""

    def __init__(
        self, facts: Facts, control_loop: asyncio.AbstractEventLoop, gate: AdminGate | None = None,
        log: Log | None = None,
    ) -> None:  # fmt: skip
        """``gate`` has the connections of the management port."""
        self.facts = facts
        self.gate = gate or AdminGate()
        self.log = log
        self._control_loop = control_loop
        self._copies: dict[Copier[Any], asyncio.Future[Any]] = {}  # under way, or not older than COPY_AGE_S
        self._reads = 0
        self._beat_s = time.monotonic()

    def beat(self) -> None:
        """Control only, on its running loop: it beats from now on, until the loop ends."""
        self._beat_s = time.monotonic()
        asyncio.get_running_loop().call_later(BEAT_S, self.beat)

    @property
    def idle_s(self) -> float:
        """Seconds since control's loop ran last. Any thread."""
        return time.monotonic() - self._beat_s

    async def copy(self, copier: Copier[T], rests: int = 0) -> tuple[T, ...]:
        """The rows that ``copier`` makes, at most COPY_AGE_S old, or ``rests`` times as long as they take, if that is
        more. It must be a function of a module, which names it.

        Busy if control needs more than COPY_WITHIN_S.
        """
        future = self._copies.get(copier)
        if future is None:
            future = self._copies[copier] = self._ask(copier)
            future.add_done_callback(partial(self._end_copy, copier, rests, time.monotonic()))
        rows: tuple[T, ...] = await _within(future)
        return rows

    def _end_copy(self, copier: Copier[Any], rests: int, began_s: float, future: asyncio.Future[Any]) -> None:
        """It is made. One that failed is for those alone who waited for it."""
        has_failed = future.cancelled() or future.exception() is not None
        shared_s = 0 if has_failed else max(COPY_AGE_S, rests * (time.monotonic() - began_s))
        asyncio.get_running_loop().call_later(shared_s, self._copies.pop, copier)

    async def read(self, copier: Copier[T]) -> tuple[T, ...]:
        """The rows that ``copier`` makes for this request alone. Busy if READS_MAX wait, or control needs more than
        COPY_WITHIN_S.
        """
        if self._reads >= READS_MAX:
            raise Busy(f"{READS_MAX} requests wait for the control thread")
        future = self._ask(copier)
        self._reads += 1
        future.add_done_callback(self._end_read)
        return await _within(future)

    def _ask(self, copier: Copier[T]) -> asyncio.Future[tuple[T, ...]]:
        """Let control's loop run it."""
        made = _in_slices(copier(self.facts))
        try:
            return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(made, self._control_loop))
        except RuntimeError as error:
            made.close()
            raise Busy("the server stops") from error

    def _end_read(self, future: asyncio.Future[Any]) -> None:
        self._reads -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not log it once more


async def _within(future: asyncio.Future[T]) -> T:
    """Wait, and leave the work to those who still wait for it."""
    try:
        return await asyncio.wait_for(asyncio.shield(future), COPY_WITHIN_S)
    except TimeoutError as error:
        raise Busy(f"the control thread did not answer within {COPY_WITHIN_S:g} s") from error
