"""Which threads have priority when several want the same core."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from interop.harness.servers import AsyncioServer, RocketnsServer
from rocketns.startup import CONTROL_NICENESS

NICENESS_MAX = 19

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a thread has a niceness of its own on Linux only")


def test_reactors_go_before_control(tmp_path: Path) -> None:
    server = RocketnsServer(tmp_path)
    try:
        control, *others = sorted(int(task.name) for task in Path(f"/proc/{server.pid}/task").iterdir())
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        assert control == server.pid
        assert os.getpriority(os.PRIO_PROCESS, control) == min(mine + CONTROL_NICENESS, NICENESS_MAX)
        assert sum(os.getpriority(os.PRIO_PROCESS, other) == mine for other in others) >= RocketnsServer.reactors
    finally:
        server.stop()


def test_the_asyncio_lane_alone_gives_way_to_nobody(tmp_path: Path) -> None:
    server = AsyncioServer(tmp_path)
    try:
        assert os.getpriority(os.PRIO_PROCESS, server.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        server.stop()
