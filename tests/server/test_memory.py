"""Free memory below a block that is in use goes back to the system."""

from __future__ import annotations

import os
from pathlib import Path

from rocketns.server.memory import give_back_free_memory

MB = 1 << 20
BLOCK_BYTES = 100_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_free_memory_below_a_block_in_use_goes_back() -> None:
    blocks = [bytes([number % 256]) * BLOCK_BYTES for number in range(64 * MB // BLOCK_BYTES)]
    pinned = blocks[-1]
    blocks.clear()
    before = resident_bytes()
    give_back_free_memory()
    assert before - resident_bytes() > 48 * MB
    assert len(pinned) == BLOCK_BYTES
