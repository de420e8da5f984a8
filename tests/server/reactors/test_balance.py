"""How many reactors are in use, for given busy shares and idle cores."""

from __future__ import annotations

import itertools

import pytest

from rocketns.server.reactors.balancer import (
    AGAIN,
    GATHER_AFTER,
    GATHER_AFTER_MAX,
    RECENT_MS,
    Balance,
    Give,
)
from rocketns.server.reactors.usage import Usage


def balance(active: int, count: int = 4) -> Balance:
    """A balance that already uses this many reactors."""
    made = Balance(count)
    made.active = active
    return made


def windows(
    made: Balance, number: int, shares: list[float], idle: float, carried: list[int] | None = None
) -> list[Give]:
    """Feed this many equal windows; the moves after the last one."""
    gives: list[Give] = []
    for _ in range(number):
        gives = made.decide(Usage(shares, idle), carried or [10] * made.active + [0] * (made.count - made.active))
    return gives


def test_one_reactor_carries_what_it_can() -> None:
    made = Balance(4)
    assert windows(made, 100, [0.85, 0, 0, 0], 3.0) == []
    assert made.active == 1


def test_a_busy_reactor_gives_half_of_its_connections_to_the_next() -> None:
    made = Balance(4)
    assert windows(made, 1, [1.0, 0, 0, 0], 2.5) == [Give(0, 1, 500, RECENT_MS)]
    assert made.active == 2


def test_a_busy_reactor_stays_alone_where_others_need_the_cores() -> None:
    """Two cores, one of them busy with a load generator."""
    made = Balance(2)
    assert windows(made, 100, [0.98, 0], 0.2) == []
    assert made.active == 1


def test_all_cores_are_used_where_there_is_work_and_room() -> None:
    made, active = Balance(4), [1]
    for _ in range(40):
        windows(made, 1, [1.0] * made.active + [0.0] * (4 - made.active), 4.0 - made.active)
        active.append(made.active)
    assert sorted(set(active)) == [1, 2, 3, 4]
    assert active == sorted(active)


def test_two_busy_reactors_stay_two_where_they_have_all_cores() -> None:
    """The reactors' own use does not count as a lack of cores."""
    made = balance(2, 2)
    windows(made, 100, [0.95, 0.9], 0.1)
    assert made.active == 2


def test_reactors_that_have_little_to_do_are_gathered() -> None:
    made = balance(3)
    assert windows(made, GATHER_AFTER - 1, [0.4, 0.4, 0.4, 0], 2.0) == []
    assert windows(made, 1, [0.4, 0.3, 0.4, 0], 2.0, [7, 8, 9, 0]) == [Give(2, 1, 1000, 0)]
    assert made.active == 2


def test_reactors_whose_cores_others_took_are_gathered() -> None:
    made = balance(2, 2)
    windows(made, GATHER_AFTER, [0.45, 0.5], 0.0)
    assert made.active == 1


def test_work_just_too_much_for_one_is_tried_less_and_less_often() -> None:
    """One reactor needs 0.95 of a core for this load, two need 0.5 each, so the number would keep changing."""
    made, changes = balance(2, 2), []
    for window in range(2000):
        before = made.active
        windows(made, 1, [0.95, 0.0] if made.active == 1 else [0.5, 0.5], 1.0)
        if made.active < before:
            changes.append(window)
    waits = [after - before for before, after in itertools.pairwise(changes)]
    assert waits[:5] == [1 + min(GATHER_AFTER * 2**number, GATHER_AFTER_MAX) for number in range(1, 6)]
    assert max(waits) == 1 + GATHER_AFTER_MAX


def test_gathering_is_quick_again_after_a_long_time_with_fewer() -> None:
    made = balance(2, 2)
    for _ in range(3):
        windows(made, GATHER_AFTER * 4, [0.5, 0.5], 1.0)
        assert made.active == 1
        windows(made, 1, [1.0, 0.0], 1.0)
        assert made.active == 2
    windows(made, GATHER_AFTER_MAX, [0.5, 0.5], 1.0)
    windows(made, AGAIN, [0.5, 0.0], 1.0)
    windows(made, 1, [1.0, 0.0], 1.0)
    windows(made, GATHER_AFTER, [0.5, 0.5], 1.0)
    assert made.active == 1


def test_connections_that_could_not_move_are_asked_for_again() -> None:
    made = balance(1)
    for _ in range(3):
        assert windows(made, 1, [0.2, 0, 0.1, 0], 2.0, [7, 0, 1, 0]) == [Give(2, 0, 1000, 0)]


@pytest.mark.parametrize(
    ("shares", "thousandths"), [([1.0, 0.5, 0, 0], 250), ([1.0, 0.0, 0, 0], 500), ([0.9, 0.6, 0, 0], 166)]
)
def test_uneven_reactors_are_made_even(shares: list[float], thousandths: int) -> None:
    """The busiest gives half of the difference. The next window is ignored, because it covers both states."""
    made = balance(2)
    assert windows(made, 1, shares, 0.0) == [Give(0, 1, thousandths, RECENT_MS)]
    assert windows(made, 1, shares, 0.0) == []
    assert windows(made, 1, shares, 0.0) == [Give(0, 1, thousandths, RECENT_MS)]


def test_reactors_with_time_to_spare_may_be_uneven() -> None:
    made = balance(2)
    assert [windows(made, 1, [0.85, 0.3, 0, 0], 1.0) for _ in range(20)] == [[]] * 20
