"""Values that several threads ask for: whoever asks first makes it, the others wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from heapq import heappop, heappush
from threading import Condition, local
from typing import Any

Make = Callable[[], Any]


class Promises:
    """``known``: values that exist already. Making a value may ask for others, but never for itself through them."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._begun: dict[str, Future[Any]] = {name: _done(value) for name, value in known.items()}
        self._turns = Turns(1)

    def get(self, name: str, make: Make) -> Any:
        """The value, or the error that making it raised. CancelledError if it was not begun before the end."""
        mine: Future[Any] = Future()
        future = self._begun.setdefault(name, mine)  # one step, so that one thread alone comes first
        if future is mine:
            _fulfil(future, self._turns.or_cancelled(make))
        elif not future.done():
            self._turns.pass_until(future)
        return future.result()

    def together(self, works: Sequence[Make], at_once: int) -> None:
        """Run them all, ``at_once`` at a time, in this order; a work that waits for a value counts as not running.

        After an error or Ctrl-C no other value is begun. The error is raised when the running works have ended."""
        self._turns = turns = Turns(at_once)
        with ThreadPoolExecutor(max(len(works), 1)) as threads:
            futures = [threads.submit(turns.work, work, rank) for rank, work in enumerate(works)]
            try:
                wait(futures)
            except BaseException:  # Ctrl-C
                turns.end()
                raise
        for error in sorted(filter(None, map(Future.exception, futures)), key=_is_from_another):
            raise error


class Turns:
    """At most ``at_once`` threads have a turn. A free one goes to the waiting thread of the lowest rank."""

    def __init__(self, at_once: int) -> None:
        self._free, self._ended = at_once, False
        self._waiting: list[int] = []
        self._changed = Condition()
        self._mine = local()

    def work(self, work: Make, rank: int) -> None:
        """Run it in a turn. Its error ends all work. CancelledError if the end came before its turn."""
        self._mine.rank = rank
        self._take()
        try:
            self.or_cancelled(work)()
        except BaseException:
            self.end()
            raise
        finally:
            self._give()

    def pass_until(self, future: Future[Any]) -> None:
        """Wait for it. Another thread has this thread's turn in that time."""
        has_turn = hasattr(self._mine, "rank")
        if has_turn:
            self._give()
        wait([future])
        if has_turn:
            self._take()

    def or_cancelled(self, make: Make) -> Make:
        """``make``; after the end a function that raises CancelledError."""
        return _cancelled if self._ended else make

    def end(self) -> None:
        """Begin no more work."""
        self._ended = True

    def _take(self) -> None:
        rank = self._mine.rank
        with self._changed:
            heappush(self._waiting, rank)
            self._changed.wait_for(lambda: self._free and self._waiting[0] == rank)
            heappop(self._waiting)
            self._free -= 1
            self._changed.notify_all()

    def _give(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()


def _cancelled() -> None:
    raise CancelledError


def _is_from_another(error: BaseException) -> bool:
    return isinstance(error, CancelledError)


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _fulfil(future: Future[Any], make: Make) -> None:
    try:
        future.set_result(make())
    except BaseException as error:  # whoever waits must not wait for ever
        future.set_exception(error)
