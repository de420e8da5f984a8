"""CPU time of containers, which are nobody's children: the kernel counts it for the cgroup that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.support.running.summary import ELSEWHERE

CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def counted(name: str) -> Iterator[None]:
    """Meanwhile the CPU time of tests has that of this cgroup. The engine makes it, and would leave it behind."""
    used = partial(used_s, name)
    ELSEWHERE.append(used)
    try:
        yield
    finally:
        ELSEWHERE.remove(used)
        _remove(name)


def used_s(name: str) -> float:
    """By all processes in a cgroup so far, those that have ended included; 0 before the first container."""
    with suppress(OSError):  # cgroups of version 2, and of version 1
        words = (CGROUPS / name / "cpu.stat").read_text("ascii").split()
        return int(words[words.index("usage_usec") + 1]) / 1e6
    with suppress(OSError):
        return int((CGROUPS / "cpuacct" / name / "cpuacct.usage").read_text("ascii")) / 1e9
    return 0.0


def _remove(name: str) -> None:
    """Of version 1 each controller has one."""
    for folder in (*CGROUPS.glob(name), *CGROUPS.glob(f"*/{name}")):
        with suppress(OSError):
            folder.rmdir()
