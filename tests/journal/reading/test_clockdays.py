"""The clock of each day from estimates of days, given as plain rows. Offsets in seconds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rocketns.journal.reading.clockdays import Clocks, chained

S = 1_000_000
Estimate = dict[str, Any]


def versions(day: str, ns: str, *offsets: float, reference: str = "n1") -> Estimate:
    latest = [round(offset * S) for offset in offsets[:3]]
    middle = sorted(round(offset * S) for offset in offsets)[len(offsets) // 2]
    agreeing = sum(abs(offset * S - middle) <= S for offset in offsets)
    return estimate(day, ns, reference, "versions", middle, len(offsets), agreeing, 20_000, latest)


def beats(day: str, ns: str, offset: float, reference: str = "n1") -> Estimate:
    return estimate(day, ns, reference, "heartbeats", round(offset * S), 9, 9, 30 * S, [])


def nothing(day: str, ns: str, reference: str | None = "n1") -> Estimate:
    return estimate(day, ns, reference, None, None, None, None, None, None)


def estimate(day: str, ns: str, reference: str | None, method: str | None, *values: Any) -> Estimate:
    offset, samples, agreeing, uncertainty, latest = values
    return {
        "dt": day, "ns": ns, "reference": reference, "method": method, "offset": offset, "samples": samples,
        "spread": 0, "agreeing": agreeing, "uncertainty": uncertainty, "latest": latest,
    }  # fmt: skip


def offsets(rows: list[Estimate]) -> list[tuple[str, str, float, str]]:
    return [(day, ns, offset / S, method) for day, ns, offset, _, _, method, *_ in chained(rows, Clocks()).days]


def of(rows: list[Estimate], wanted: str) -> list[tuple[float, str]]:
    return [(offset, method) for _, ns, offset, method in offsets(rows) if ns == wanted]


def test_a_clock_that_was_set_has_another_offset_from_the_next_day_on() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 5, 5, 5), nothing("2", "n1"), versions("2", "n2", 60, 60, 60)]
    assert of(rows, "n2") == [(5, "versions"), (60, "versions")]
    assert of(rows, "n1") == [(0, "reference")] * 2


def test_a_day_without_versions_has_the_offset_of_the_day_before() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), nothing("2", "n2")]
    assert of(rows, "n2") == [(47, "versions")] * 2


def test_heartbeats_let_a_known_offset_follow_a_drift() -> None:
    """47.2 s is 17.2 s more than a period of 30 s, and the nearest heartbeat is 12.8 s before."""
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), beats("2", "n2", -12.8)]
    assert of(rows, "n2") == [(47, "versions"), (47.2, "versions")]


def test_heartbeats_that_contradict_a_known_offset_replace_it() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), beats("2", "n2", 3)]
    assert of(rows, "n2") == [(47, "versions"), (3, "heartbeats")]


def test_versions_of_several_days_count_together() -> None:
    rows = [row for day in "123" for row in (nothing(day, "n1"), versions(day, "n2", 47), beats(day, "n2", -13))]
    assert of(rows, "n2") == [(-13, "heartbeats"), (-13, "heartbeats"), (47, "versions")]


def test_the_reference_stays_where_another_name_server_heard_more() -> None:
    """On day 2 the offsets are those against n2, on day 3 n1 is not heard at all."""
    rows = [
        nothing("1", "n1"), versions("1", "n2", 5, 5, 5), versions("1", "n3", 9, 9, 9),
        versions("2", "n1", -6, -6, -6, reference="n2"), nothing("2", "n2", "n2"),
        versions("2", "n3", 4, 4, 4, reference="n2"),
        nothing("3", "n2", "n2"), versions("3", "n3", 1, 1, 1, reference="n2"),
    ]  # fmt: skip
    assert of(rows, "n1") == [(0, "reference")] * 3
    assert of(rows, "n2") == [(5, "versions"), (6, "versions"), (6, "versions")]
    assert of(rows, "n3") == [(9, "versions"), (10, "versions"), (7, "versions")]


def test_nobody_is_known_where_no_broker_was_heard() -> None:
    assert offsets([nothing("1", "n1", None), nothing("1", "n2", None)]) == [
        ("1", "n1", 0, "none"), ("1", "n2", 0, "none"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_goes_on_has_the_clocks_of_one_over_everything(seed: int) -> None:
    chance = random.Random(seed)
    rows = [row for day in range(10, 19) for row in random_day(chance, str(day))]
    cuts = sorted(chance.sample(range(10, 19), 3))
    clocks = Clocks()
    for low, high in zip([10, *cuts], [*cuts, 99], strict=True):
        clocks = chained([row for row in rows if low <= int(row["dt"]) < high], clocks)
    assert clocks == chained(rows, Clocks())


def random_day(chance: random.Random, day: str) -> list[Estimate]:
    there = [ns for ns in ("n1", "n2", "n3") if chance.random() < 0.8]
    reference = chance.choice(there) if there and chance.random() < 0.9 else None
    return [row for ns in there for row in random_estimates(chance, day, ns, reference)]


def random_estimates(chance: random.Random, day: str, ns: str, reference: str | None) -> list[Estimate]:
    found = []
    if reference is not None and ns != reference:
        if chance.random() < 0.6:
            near = [40 + chance.random() for _ in range(chance.randint(1, 5))]
            found.append(versions(day, ns, *near, reference=reference))
        if chance.random() < 0.6:
            found.append(beats(day, ns, chance.choice([10, 10.4, -3]), reference))
    return found or [nothing(day, ns, reference)]
