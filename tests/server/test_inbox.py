"""The queues in front of the processors: bounded, fair between look-ups and the rest, and between connections."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.config import NamesrvConfig
from rocketns.server.inbox import Inbox

ROUTE, OTHER = 105, 106
PLENTY = 10**9


def inbox(client: int = 10, default: int = 10, bytes_max: int = PLENTY) -> Inbox[str, Any]:
    config = NamesrvConfig(client_request_thread_pool_queue_capacity=client, default_thread_pool_queue_capacity=default)
    return Inbox(config, bytes_max)


def test_one_connection_is_served_in_its_order() -> None:
    waiting = inbox()
    for number in range(5):
        assert waiting.submit(ROUTE, "a", number, 1)
    assert len(waiting) == 5
    assert list(waiting.take(3)) == [("a", 0), ("a", 1), ("a", 2)]
    assert list(waiting.take(99)) == [("a", 3), ("a", 4)]
    assert (len(waiting), list(waiting.take(99))) == (0, [])


def test_look_ups_and_the_rest_take_turns() -> None:
    """B078: neither starves the other."""
    waiting = inbox()
    for number in range(6):
        waiting.submit(ROUTE, "a", f"r{number}", 1)
    for number in range(2):
        waiting.submit(OTHER, "a", f"o{number}", 1)
    assert sorted(item for _, item in waiting.take(4)) == ["o0", "o1", "r0", "r1"]
    assert [item for _, item in waiting.take(4)] == ["r2", "r3", "r4", "r5"]


def test_turns_go_on_where_they_ended() -> None:
    waiting = inbox(client=100, default=100)
    for number in range(10):
        waiting.submit(ROUTE, "a", number, 1)
        waiting.submit(OTHER, "b", number, 1)
    taken = [next(waiting.take(1))[0] for _ in range(10)]
    assert Counter(taken) == {"a": 5, "b": 5}


def test_connections_take_turns() -> None:
    """Who asks for much delays the others by one request each."""
    waiting = inbox()
    for number in range(5):
        waiting.submit(ROUTE, "greedy", number, 1)
    waiting.submit(ROUTE, "b", "one", 1)
    waiting.submit(ROUTE, "c", "one", 1)
    assert [key for key, _ in waiting.take(99)] == ["greedy", "b", "c", "greedy", "greedy", "greedy", "greedy"]


@pytest.mark.parametrize(("full", "other"), [(ROUTE, OTHER), (OTHER, ROUTE)])
def test_a_full_queue_refuses_and_the_other_one_does_not(full: int, other: int) -> None:
    """B077, B078."""
    waiting = inbox(client=3, default=3)
    assert [waiting.submit(full, "a", number, 1) for number in range(5)] == [True, True, True, False, False]
    assert waiting.submit(other, "a", "x", 1)
    list(waiting.take(2))
    assert waiting.submit(full, "a", "again", 1)


@pytest.mark.parametrize("capacity", [3, 0, -1])
def test_a_full_queue_still_takes_the_first_request_of_a_connection(capacity: int) -> None:
    """Who asks one thing at a time is always heard."""
    waiting = inbox(client=capacity, default=capacity)
    for number in range(5):
        waiting.submit(ROUTE, "greedy", number, 1)
    assert waiting.submit(ROUTE, "modest", "first", 1)
    assert not waiting.submit(ROUTE, "modest", "second", 1)


def test_bytes_are_limited_in_all() -> None:
    waiting = inbox(bytes_max=100)
    assert waiting.submit(ROUTE, "a", 1, 60)
    assert not waiting.submit(OTHER, "b", 2, 41)
    assert waiting.submit(OTHER, "b", 3, 40)
    assert [item for _, item in waiting.take(1)] in ([1], [3])
    assert list(waiting.take(9))
    assert waiting.submit(ROUTE, "a", 4, 100)


codes, keys = st.sampled_from([ROUTE, OTHER]), st.sampled_from("abc")
steps = st.lists(st.one_of(st.tuples(codes, keys, st.integers(1, 40)), st.integers(0, 4)), max_size=60)


@given(steps, st.integers(0, 5), st.integers(0, 5))
def test_whatever_is_accepted_comes_out_once_and_in_order(steps: list[Any], client: int, default: int) -> None:
    """For each connection and kind; and no limit is exceeded by more than one request of each connection."""
    waiting = inbox(client, default, bytes_max=100)
    accepted: dict[tuple[int, str], list[int]] = {(code, key): [] for code in (ROUTE, OTHER) for key in "abc"}
    sizes: dict[int, int] = {}

    def check_out(key: str, item: tuple[int, int]) -> None:
        code, number = item
        assert accepted[code, key].pop(0) == number
        del sizes[number]

    for number, step in enumerate(steps):
        if isinstance(step, int):
            for key, item in waiting.take(step):
                check_out(key, item)
        elif waiting.submit(step[0], step[1], (step[0], number), step[2]):
            accepted[step[0], step[1]].append(number)
            sizes[number] = step[2]
        assert len(waiting) == len(sizes)
        assert sum(sizes.values()) <= 100
        for code, capacity in ((ROUTE, client), (OTHER, default)):
            assert sum(len(accepted[code, key]) for key in "abc") <= max(capacity, 0) + 3
    for key, item in waiting.take(1_000):
        check_out(key, item)
    assert not sizes
