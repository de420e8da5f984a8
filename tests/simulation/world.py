"""The one clock of a simulation, its processes, and their event loops. Nothing sleeps: time jumps to what is next."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


class Crash(BaseException):
    """A process ends at this place in its code. No `except Exception` of the product catches it."""


class Violation(AssertionError):
    """An invariant does not hold."""


Action = Callable[[], None]

START_EPOCH_MS = 1_700_000_000_000
# More events at one instant than any real load causes: something loops endlessly.
AT_ONE_INSTANT_MAX = 200_000


class World:
    """Time in microseconds. ``after_step`` is called after each round of a process, ``violation`` ends the run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_us = 0
        self.running: Process | None = None
        self.steps = 0
        self.after_step: Callable[[Process], None] = lambda _process: None
        self.violation: Violation | None = None
        self._heap: list[tuple[int, int, Action]] = []
        self._count = 0
        self._at_this_instant = 0

    def random_of(self, name: str) -> random.Random:
        """A random stream of its own, so that one part's draws do not affect other parts."""
        return random.Random(f"{self.seed}:{name}")

    @property
    def now_s(self) -> float:
        return self.now_us / 1e6

    def at(self, us: int, action: Action) -> None:
        self._count += 1
        heapq.heappush(self._heap, (max(us, self.now_us), self._count, action))

    def after(self, us: int, action: Action) -> None:
        self.at(self.now_us + us, action)

    def run_until(self, us: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= us:
            at_us, _, action = heapq.heappop(heap)
            self._at_this_instant = 0 if at_us > self.now_us else self._at_this_instant + 1
            if self._at_this_instant > AT_ONE_INSTANT_MAX:
                raise AssertionError(f"time stands still at {self.now_s} s")
            self.now_us = at_us
            action()
            if self.violation is not None:
                raise self.violation
        self.now_us = max(self.now_us, us)

    @contextmanager
    def judging(self) -> Iterator[None]:
        """A `Violation` inside ends the run, though the product's code around it may keep the error to itself."""
        try:
            yield
        except Violation as violation:
            self.violation = self.violation or violation

    @contextmanager
    def as_process(self, process: Process) -> Iterator[None]:
        """What runs inside is this process's code, and a `Crash` ends only that."""
        previous, self.running = self.running, process
        try:
            yield
        except Crash:
            process.die()
        finally:
            self.running = previous


class Process:
    """Runs callbacks while it lives and is not stopped. What became due meanwhile runs when it goes on.

    ``ran_us`` is the time in which it could run, and ``stalls`` has the stops of more than a moment, each with its end.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.is_alive = True
        self.is_stopped = False
        self._held: list[Action] = []

    def after(self, us: int, action: Action) -> None:
        """Run the action in this process, unless it dies before. While the process is stopped, the action waits."""
        self.world.after(us, lambda: self._run_or_hold(action))

    def _run_or_hold(self, action: Action) -> None:
        if self.is_stopped:
            self._held.append(action)
        elif self.is_alive:
            with self.world.as_process(self):
                action()

    def stop_running(self) -> None:
        """SIGSTOP."""
        self.is_stopped = True

    def go_on(self) -> None:
        """SIGCONT."""
        self.is_stopped = False
        held, self._held = self._held, []
        for action in held:
            self.world.after(0, lambda action=action: self._run_or_hold(action))  # type: ignore[misc]

    def die(self) -> None:
        """The process is gone at once."""
        self.is_alive = False
        self._held.clear()


# Between two rounds of a busy loop.
ROUND_US = 30
ROUNDS_IN_SECOND_MAX = 10_000


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs in rounds like asyncio's: input that arrived, timers that are due, and the callbacks of the last round."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._input: deque[Callable[[], None]] = deque()
        self._count = 0
        self._wake_us: int | None = None
        self._next_round_us = self._second = self._rounds = 0

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return not self._process.is_alive

    def time(self) -> float:
        return self._world.now_us / 1e6

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **more: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, **more)

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None) -> Any:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        self._wake(self._world.now_us)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, timer))
        self._wake(int(when * 1e6) + 1)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None: ...

    def run_in_executor(self, _executor: Any, function: Callable[..., Any], *args: Any) -> Any:
        """The function runs at once, and its result arrives in the next round."""
        future = self.create_future()
        try:
            result = function(*args)
        except Exception as error:
            self.call_soon(future.set_exception, error)
        else:
            self.call_soon(future.set_result, result)
        return future

    def add_reader(self, source: Any, callback: Callable[[], None]) -> None:  # type: ignore[override]
        source.watch(callback)

    def remove_reader(self, source: Any) -> bool:
        source.watch(None)
        return True

    async def create_connection(  # type: ignore[override]
        self, factory: Any, host: str, port: int, **_: Any
    ) -> Any:
        return await self._process.open_connection(factory, host, port, self)  # type: ignore[attr-defined]

    async def sock_connect(self, _sock: Any, address: Any) -> None:
        """Checks only whether the connection is accepted; it is closed at once."""
        socket = await self._process.connect(*address[:2])  # type: ignore[attr-defined]
        socket.close()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._process.is_alive:  # tasks that its end cut off
            return
        raise Violation(f"{self._process.name}: nobody handles {context}") from context.get("exception")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def add_input(self, action: Callable[[], None]) -> None:
        """Something arrived at a socket. It waits there until the loop's next round."""
        self._input.append(action)
        self._wake(self._world.now_us)

    def _wake(self, us: int) -> None:
        us = max(us, self._next_round_us)
        if self._wake_us is None or us < self._wake_us:
            self._wake_us = us
            self._world.at(us, lambda: self._round_at(us))

    def _round_at(self, us: int) -> None:
        if us == self._wake_us and not self._process.is_stopped:
            self._wake_us = None
            self.round()
        elif us == self._wake_us:
            self._wake_us = None

    def go_on(self) -> None:
        """The process runs again after a stop."""
        self._wake(self._world.now_us)

    def round(self) -> None:
        """One round. What it causes runs in the next one."""
        process, world = self._process, self._world
        if not process.is_alive:
            return
        events._set_running_loop(self)
        try:
            with world.as_process(process):
                self._run_round()
        finally:
            events._set_running_loop(None)
        world.steps += 1
        self._count_round()
        self._next_round_us = world.now_us + ROUND_US
        self._want_round()
        world.after_step(process)

    def _count_round(self) -> None:
        """A loop that never waits would still answer, but use a whole core."""
        second = self._world.now_us // 1_000_000
        self._rounds = self._rounds + 1 if second == self._second else 0
        self._second = second
        if self._rounds > ROUNDS_IN_SECOND_MAX:
            self._world.violation = Violation(f"(g) {self._process.name} goes round without anything to do")

    def _run_round(self) -> None:
        """In asyncio's order: callbacks, input, timers."""
        callbacks, waiting, timers = len(self._ready), len(self._input), self._due_timers()
        for _ in range(callbacks):
            self._run(self._ready.popleft())
        for _ in range(waiting):
            self._input.popleft()()
        for timer in timers:
            self._run(timer)

    def _due_timers(self) -> list[asyncio.TimerHandle]:
        now_s, due = self._world.now_us / 1e6, []
        while self._timers and self._timers[0][0] <= now_s:
            due.append(heapq.heappop(self._timers)[2])
        return due

    def _run(self, handle: asyncio.Handle) -> None:
        if not handle._cancelled:
            handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
            if not self._process.is_alive:  # a task may keep a crash to itself
                raise Crash

    def _want_round(self) -> None:
        while self._timers and self._timers[0][2]._cancelled:
            heapq.heappop(self._timers)
        if self._input or self._ready:
            self._wake(self._world.now_us)
        elif self._timers:
            self._wake(int(self._timers[0][0] * 1e6) + 1)

    def run_now(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin a coroutine in this process."""
        events._set_running_loop(self)
        try:
            with self._world.as_process(self._process):
                return self.create_task(coroutine)
        finally:
            events._set_running_loop(None)
