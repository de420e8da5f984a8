"""Instructions of a reactor for one lookup, counted by callgrind: the same on a busy machine.

They are those of the program. The kernel's part of a lookup, which is the larger one, is not in them, so that a share
of them overstates what the port costs.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.admin.servers import CALLGRIND, registered
from benchmarks.loading.brokers import Shape
from benchmarks.loading.load import lookups
from benchmarks.servers.running import Server

SHAPE = Shape(4, 2000, 4)
ASKED = 5  # times each topic
DUMPED_WITHIN_S = 120.0
TOTAL = re.compile(r"^totals: (\d+)", re.M)


def a_lookup(folder: Path, start: Callable[..., Server], encoding: str = "json") -> float:
    """Instructions for one lookup: one connection with one outstanding, so each is a round of the reactor.

    ``start`` gets a folder, and the words before the server's command as ``prefix``.
    """
    folder.mkdir(parents=True)
    out = folder / "callgrind.out"
    server = start(folder / "ns", prefix=(*CALLGRIND, f"--callgrind-out-file={out}"))
    try:
        brokers = registered(server, SHAPE)
        _each_topic(server, encoding)  # everything is warm, and the reactor's counters are as they stay
        _control(server, "-i", "on")
        for _ in range(ASKED):
            _each_topic(server, encoding)
        _control(server, "-i", "off")
        _control(server, "-d", "lookups")
        most = _busiest(folder)
        brokers.close()
    finally:
        server.kill()
    return most / (ASKED * SHAPE.topics)


def _each_topic(server: Server, encoding: str) -> None:
    lookups(server, connections=1, depth=1, encoding=encoding, topics=SHAPE.topics, seconds=0)


def _control(server: Server, *words: str) -> None:
    subprocess.run(["callgrind_control", *words, str(server.pid)], check=True, capture_output=True, timeout=120)


def _busiest(folder: Path) -> int:
    """The instructions of the thread that has the most: the reactor that carries the connection."""
    ends = time.monotonic() + DUMPED_WITHIN_S
    while time.monotonic() < ends:
        counted = [
            int(found[1]) for file in folder.glob("callgrind.out.*") if (found := TOTAL.search(file.read_text()))
        ]
        if counted:
            return max(counted)
        time.sleep(0.2)
    raise TimeoutError(f"callgrind wrote no counts within {DUMPED_WITHIN_S:.0f} s")
