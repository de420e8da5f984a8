"""Peers decide how much a half logs: the relay's log takes a part of it."""

from __future__ import annotations

import pytest

from rocketns.shadow.children import LINES_MAX, LINES_S, ChildLines


def test_a_child_that_says_too_much_is_cut_short_and_how_much_is_said(caplog: pytest.LogCaptureFixture) -> None:
    times = [0.0] * (LINES_MAX + 20) + [LINES_S]
    lines = ChildLines("own half", lambda: times.pop(0))
    with caplog.at_level("INFO", "rocketns.shadow"):
        for number in range(LINES_MAX + 21):
            lines.log(f"line {number}")
    assert len(caplog.messages) == LINES_MAX + 2
    assert caplog.messages[-2:] == ["own half: 20 more lines were left out", f"own half: line {LINES_MAX + 20}"]
