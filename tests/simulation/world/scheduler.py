"""The one clock of a simulation, and its processes. Nothing sleeps: time jumps to the next thing that happens."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.simulation.world.errors import Crash, Violation

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
