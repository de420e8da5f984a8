"""Disturbances of a server: a stop for longer than a heartbeat time-out, a full disk, a changed clock, a kill."""

from __future__ import annotations

import contextlib
import random
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.soak.actors import Fault
from tests.soak.long.peers import FULL, HEARTBEAT_TIMEOUT_MS, KILLED, Service

STOPPED, CLOCK = "stopped", "clock changed"
STOPPED_S = 1.5 * HEARTBEAT_TIMEOUT_MS / 1000
FULL_S = 20.0
# Far enough that anything that expired by the wall clock would go.
CLOCK_CHANGES = ("-2d", "+1h", "-30s", "+0", "+300d", "+0")
DISK_MB = 384
COMPLAINT = re.compile(r"^.*\b(ERROR|Traceback)\b.*$", re.MULTILINE)
FAKETIME = "libfaketimeMT.so.1"  # for programs with threads


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[str | None]:
    """A file system of its own at ``place``; gives the reason where there can be none, or None."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "rocketns-soak", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = f"no full disk: {done.stderr.strip()}" if done.returncode else None
    except OSError as error:
        reason = f"no full disk: {error}"
    try:
        yield reason
    finally:
        if reason is None:
            subprocess.run(["umount", "--lazy", str(place)], check=False)


@dataclass(frozen=True)
class Clock:
    """The wall clock of a process, which follows ``offset``, a file. Its monotonic clock stays as it is."""

    library: Path
    offset: Path

    @classmethod
    def find(cls, offset: Path) -> Clock | None:
        """With the library of Debian's package faketime, or None without it."""
        found = sorted(Path("/usr/lib").glob(f"*/faketime/{FAKETIME}"))
        if not found:
            return None
        offset.write_text("+0", "ascii")
        return cls(found[0], offset)

    @property
    def env(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.offset),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, change: str) -> None:
        fresh = self.offset.with_suffix(".new")
        fresh.write_text(change, "ascii")
        fresh.replace(self.offset)


def stop_for_a_while(service: Service, over: threading.Event) -> None:
    """SIGSTOP, and SIGCONT after longer than the brokers' heartbeat time-out."""
    with service.timeline.during(STOPPED):
        service.server.process.signal(signal.SIGSTOP)
        over.wait(STOPPED_S)
        service.server.process.signal(signal.SIGCONT)


def fill_disk(service: Service, disk: Path, over: threading.Event) -> None:
    """Not a byte is free for a while. Journal and KV file are on that disk."""
    ballast = disk / "ballast"
    with service.timeline.during(FULL):
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while not over.is_set():
                file.write(bytes(1 << 20))
        over.wait(FULL_S)
        ballast.unlink()


def kill(service: Service) -> None:
    """SIGKILL, and a new start with the same files and port, which must log no error."""
    with service.timeline.during(KILLED):
        service.server.kill()
        service.server.start()
    if found := COMPLAINT.search(service.server.process.text()):
        raise Fault(f"after a kill the new start says: {found[0]}")


def change_clock(service: Service, clock: Clock, chance: random.Random) -> None:
    """The wall clock jumps; the process sees it within a second."""
    with service.timeline.during(CLOCK):
        clock.set(chance.choice(CLOCK_CHANGES))
