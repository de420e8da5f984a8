"""A half logs what peers make it log: the relay's log takes a part of it. A child that is to end does, also early."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from rocketns.shadow.children import LINES_MAX, LINES_S, Child, ChildLines, Process, spawned

WITHIN_S = 60.0
ENDLESS = (sys.executable, "-c", "import sys; sys.stdin.read()")


def test_a_child_that_says_too_much_is_cut_short_and_how_much_is_said(caplog: pytest.LogCaptureFixture) -> None:
    times = [0.0] * (LINES_MAX + 20) + [LINES_S]
    lines = ChildLines("own half", lambda: times.pop(0))
    with caplog.at_level("INFO", "rocketns.shadow"):
        for number in range(LINES_MAX + 21):
            lines.log(f"line {number}")
    assert len(caplog.messages) == LINES_MAX + 2
    assert caplog.messages[-2:] == ["own half: 20 more lines were left out", f"own half: line {LINES_MAX + 20}"]


def test_a_child_that_is_stopped_while_it_is_being_started_ends() -> None:
    """Its start may take seconds: the own half reads the upstream first."""

    async def run() -> int | None:
        begins, goes_on = asyncio.Event(), asyncio.Event()

        async def spawn() -> Process:
            begins.set()
            await goes_on.wait()
            return await spawned(ENDLESS, subprocess.PIPE)

        child = Child("the half", spawn, print)
        running = asyncio.create_task(child.run())
        await begins.wait()
        await child.stop()
        goes_on.set()
        await asyncio.wait_for(running, WITHIN_S)
        return None if child.process is None else child.process.returncode

    assert asyncio.run(run()) is not None
