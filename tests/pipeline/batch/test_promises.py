"""Values that several threads ask for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock
from typing import Any

import pytest

from rocketns.pipeline.batch.promises import Promises

WAIT_S = 600  # against hangs


class Counted:
    """How many of its works run at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def test_a_value_is_made_once_for_all_threads() -> None:
    promises, made, begin = Promises({}), [], Barrier(8)

    def ask() -> Any:
        begin.wait(WAIT_S)
        return promises.get("value", lambda: made.append(1) or object())

    with ThreadPoolExecutor(8) as threads:
        values = {id(future.result()) for future in [threads.submit(ask) for _ in range(8)]}
    assert len(made) == len(values) == 1


def test_values_follow_from_others_whatever_the_order() -> None:
    promises = Promises({"a0": 1})

    def value(number: int) -> Any:
        return promises.get(f"a{number}", lambda: value(number - 1) + 1)

    promises.together([], 2)
    promises.together([partial(value, number) for number in (5, 1, 4, 20, 3)], 2)
    assert value(20) == 21


def test_no_more_work_at_a_time_than_allowed() -> None:
    promises, counted = Promises({}), Counted()

    def work(number: int) -> None:
        with counted:
            promises.get(f"{number}", lambda: sum(range(20_000)))

    promises.together([partial(work, number) for number in range(40)], 3)
    assert 1 <= counted.most <= 3


def test_a_thread_that_waits_for_a_value_leaves_its_turn_to_another() -> None:
    promises, asked, free = Promises({}), Event(), Event()

    def slow() -> str:
        asked.set()
        assert free.wait(WAIT_S)
        return "slow"

    def waits() -> None:
        assert asked.wait(WAIT_S)
        assert promises.get("slow", slow) == "slow"

    # With two turns the third work is done only if one of the others leaves its turn.
    promises.together([partial(promises.get, "slow", slow), waits, free.set], 2)


def test_an_error_ends_the_rest_and_is_the_one_that_is_raised() -> None:
    promises, done = Promises({}), list[int]()

    def fails() -> None:
        raise OSError("no space left on device")

    works = [partial(promises.get, "bad", fails), partial(promises.get, "bad", fails)]
    with pytest.raises(OSError, match="no space"):
        promises.together([*works, *[partial(done.append, number) for number in range(100)]], 1)
    assert len(done) < 100
