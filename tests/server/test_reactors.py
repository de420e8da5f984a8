"""How busy the reactors are, and how many are in use."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from rocketns.server.reactors import usage
from rocketns.server.reactors.balancer import (
    GATHER_AFTER,
    GATHER_AFTER_MAX,
    RECENT_MS,
    Balance,
    Give,
)
from rocketns.server.reactors.usage import Meter, Usage, idle_s


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


def test_a_busy_reactor_gives_half_of_its_connections_to_the_next() -> None:
    made = Balance(4)
    assert windows(made, 1, [1.0, 0, 0, 0], 2.5) == [Give(0, 1, 500, RECENT_MS)]
    assert made.active == 2


def test_a_busy_reactor_stays_alone_where_others_need_the_cores() -> None:
    """Two cores, one of them busy with a load generator."""
    made = Balance(2)
    assert windows(made, 100, [0.98, 0], 0.2) == []
    assert made.active == 1


def test_reactors_that_have_little_to_do_are_gathered() -> None:
    made = balance(3)
    assert windows(made, GATHER_AFTER - 1, [0.4, 0.4, 0.4, 0], 2.0) == []
    assert windows(made, 1, [0.4, 0.3, 0.4, 0], 2.0, [7, 8, 9, 0]) == [Give(2, 1, 1000, 0)]
    assert made.active == 2


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


STAT = """cpu  10 0 10 5000 50 0 0 0 0 0
cpu0 1 2 3 1000 10 0 0 0 0 0
cpu1 1 2 3 2000 20 0 0 0 0 0
cpu12 1 2 3 4000 40 0 0 0 0 0
intr 1 2 3
"""


@pytest.mark.parametrize(("cores", "seconds"), [({0}, 10.1), ({1}, 20.2), ({0, 12}, 50.5)])
def test_idle_time_is_that_of_the_cores_of_this_process(tmp_path: Path, cores: set[int], seconds: float) -> None:
    (tmp_path / "stat").write_text(STAT, "ascii")
    assert idle_s(cores, tmp_path / "stat") == pytest.approx(seconds)


class Machine:
    """Threads whose CPU clocks the test moves: the meter's clock, and the time that the cores were idle."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.now_s, self.used_s, self.idle_s = 100.0, [5.0] * count, 0.0
        self.idle_reads = 0
        threads = [Mock(ident=number + 1) for number in range(count)]
        clocks = SimpleNamespace(
            monotonic=lambda: self.now_s, pthread_getcpuclockid=int, clock_gettime=lambda one: self.used_s[one - 1]
        )
        monkeypatch.setattr(usage, "time", clocks)
        monkeypatch.setattr(usage, "idle_s", self._read_idle)
        self.meter = Meter(threads)
        self.meter.read()

    def _read_idle(self, _cores: set[int]) -> float | None:
        self.idle_reads += 1
        return self.idle_s

    def window(self, *used_s: float, took_s: float = 1.0, idle_s: float = 0.0) -> Usage | None:
        self.now_s += took_s
        self.used_s = [before + more for before, more in zip(self.used_s, used_s, strict=True)]
        self.idle_s += idle_s
        return self.meter.read()


def test_idle_time_is_read_only_while_a_reactor_is_busy_and_none_is_assumed_in_the_first_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The idle time at the start of that window was not read, so none of it counts."""
    machine = Machine(monkeypatch, 1)
    reads = machine.idle_reads
    assert machine.window(0.4, idle_s=3.0) == Usage(pytest.approx([0.4]), 0.0)
    assert machine.idle_reads == reads
    assert machine.window(0.9, idle_s=3.0) == Usage(pytest.approx([0.9]), 0.0)
    assert machine.window(0.9, idle_s=3.0) == Usage(pytest.approx([0.9]), 3.0)
