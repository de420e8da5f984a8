"""A server is warm when more load makes it no faster."""

from __future__ import annotations

import pytest

from benchmarks.warm import is_warm, said, until_warm


@pytest.mark.parametrize(
    ("costs", "warm"),
    [
        ([], False),
        ([10.0, 10.0, 10.0], False),
        ([10.0, 10.0, 10.0, 10.0], True),
        ([30.0, 20.0, 12.0, 10.0], False),
        ([30.0, 10.0, 14.0, 11.0, 9.8], True),
        ([30.0, 10.0, 14.0, 11.0, 9.6], False),
    ],
)
def test_the_last_three_slices_bring_no_gain(costs: list[float], warm: bool) -> None:
    assert is_warm(costs) is warm


def test_load_goes_on_until_it_is_warm() -> None:
    costs = iter([40.0, 20.0, 10.0, 10.0, 10.0, 10.0, 1.0])
    assert until_warm(lambda: next(costs), 20) == [40.0, 20.0, 10.0, 10.0, 10.0, 10.0]


def test_load_ends_in_time_also_where_it_is_not_warm_and_the_report_says_so() -> None:
    costs = iter(range(100, 0, -10))
    found = until_warm(lambda: float(next(costs)), 4)
    assert found == [100.0, 90.0, 80.0, 70.0]
    assert "still getting faster" in said("Java", "lookups", found, "µs")
    assert ", warm." in said("Java", "lookups", [5.0] * 4, "µs")
