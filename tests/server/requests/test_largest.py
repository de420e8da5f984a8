"""The key that holds the most bytes is known after every change; exactly while few hold as much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketns.server.requests.largest import COMPARED_MAX, Largest

CHANGES = st.lists(st.tuples(st.integers(0, 20), st.one_of(st.just(0), st.integers(0, 1 << 24))), max_size=200)


@given(CHANGES)
def test_the_largest_is_known(changes: list[tuple[int, int]]) -> None:
    largest: Largest[int] = Largest()
    held: dict[int, int] = {}
    for key, size in changes:
        assert largest.hold(key, size) == size - held.get(key, 0)
        held[key] = size
        key_found, most = largest.largest()
        assert most == max(held.values())
        assert key_found is None if most == 0 else held[key_found or 0] == most
        assert largest.total == sum(held.values())


def test_among_many_near_equals_one_with_half_of_the_most_is_chosen() -> None:
    largest: Largest[int] = Largest()
    for key in range(COMPARED_MAX + 1):
        largest.hold(key, 600 + key)
    assert largest.largest() == (COMPARED_MAX - 1, 600 + COMPARED_MAX - 1)


def test_among_sixty_near_equals_the_largest_is_chosen() -> None:
    largest: Largest[int] = Largest()
    for key in range(60):
        largest.hold(key, 600 + key)
    assert largest.largest() == (59, 659)
