"""The time of the journals where the machine's clock is set."""

from __future__ import annotations

import logging

import pytest

from rocketns.collect.observed_journal import SteadyClock

BEGAN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


class Machine:
    """``wall`` is its clock."""

    def __init__(self) -> None:
        self.wall, self.passed = BEGAN_MS, 77_000
        self.clock = SteadyClock(lambda: self.wall * 1_000_000, lambda: self.passed * 1_000_000)

    def wait(self, ms: int, *, moved: int = 0) -> int:
        self.wall += ms + moved
        self.passed += ms
        return self.clock() - BEGAN_MS


def test_a_clock_that_is_set_forward_and_back_is_named_and_times_go_on(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    with caplog.at_level(logging.WARNING):
        assert machine.wait(1_000) == 1_000
        assert machine.wait(1_000, moved=HOUR_MS) == 2_000
        assert machine.wait(1_000) == 3_000
        assert machine.wait(1_000, moved=-2 * HOUR_MS) == 4_000
    first, second = caplog.messages
    assert "was set by +3600.0 s" in first
    assert "-3600.0 s off from it" in first
    assert "was set by -7200.0 s" in second
    assert "+3600.0 s off from it" in second
