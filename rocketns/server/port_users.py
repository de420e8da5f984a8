"""Which processes listen at a TCP port, by /proc: for the message of a start that found its port in use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rocketns.logtext import one_line

LISTENS = "0A"
COMMAND_CHARACTERS_MAX = 120


def listeners(port: int, proc: Path = Path("/proc")) -> list[str]:
    """``process PID (COMMAND)`` for each process that listens at the port and may be read; empty if none may."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    return [f"process {folder.name} ({_command(folder)})" for folder in _processes(proc) if sockets & _opened(folder)]


def _inodes(port: int, proc: Path) -> Iterator[str]:
    """Of listening sockets. A line has: number, local address:port in hexadecimal, remote one, state, …, inode."""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _processes(proc: Path) -> list[Path]:
    return sorted((one for one in proc.iterdir() if one.name.isdecimal()), key=lambda one: int(one.name))


def _opened(process: Path) -> set[str]:
    """What its descriptors lead to. Those of other users are seen by root alone, and files may be closed meanwhile."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        words = "ended meanwhile"
    return one_line(words if len(words) <= COMMAND_CHARACTERS_MAX else f"{words[:COMMAND_CHARACTERS_MAX]}…")
