"""The journal's properties: where it is written, and its limits with their units. No ``journalPath``, no journal."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from rocketns.config import properties
from rocketns.config.properties import Effect, prop
from rocketns.errors import StartupError

START = Effect.START
ANY_ADDRESS = ("", "0.0.0.0", "::")
NS_SAFE = re.compile(r"[A-Za-z0-9._-]{1,128}")
BUFFER_BYTES_MIN = 64 * 1024
BUFFER_BYTES_MAX = 4 * 1024**3
BYTES_MAX = 1 << 40


@dataclass(slots=True)
class JournalConfig:
    """Sizes are bytes."""

    journal_path: str = prop("", "folder that the journal is written below; without it there is no journal", START)
    journal_ns: str = prop("", "this name server's id in the journal; by default its host and port", START)
    journal_retention_days: int = prop(
        30, "days after which closed files are deleted; 0 = never", START, low=0, high=36_500
    )
    journal_retention_bytes: int = prop(
        10 * 1024**3,
        "bytes of closed files of this name server; beyond it the oldest go; 0 = no limit",
        START,
        long=True,
        low=0,
    )
    journal_rotation_bytes: int = prop(
        64 * 1024**2, "bytes after which another file is begun", START, long=True, low=1, high=BYTES_MAX
    )
    journal_rotation_seconds: int = prop(
        600, "s after which another file is begun; readers see closed files", START, low=1, high=86_400
    )
    journal_fsync_ms: int = prop(
        1_000, "ms between two writes with fdatasync: what a crash may take", START, low=1, high=60_000
    )
    journal_buffer_bytes: int = prop(
        16 * 1024**2,
        "bytes that may wait for the disk; beyond it records are dropped and counted",
        START,
        long=True,
        low=BUFFER_BYTES_MIN,
        high=BUFFER_BYTES_MAX,
    )
    journal_lookup_seconds: int = prop(
        60, "s of route look-ups that one row counts; 0 = none are counted", START, low=0, high=86_400
    )
    journal_lookup_clients: bool = prop(False, "count look-ups by client address as well", START)
    journal_lookup_keys_max: int = prop(
        20_000, "rows of look-ups in an interval; the rest goes into one row", START, low=0, high=10_000_000
    )

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """StartupError for a number that is out of its bounds, and for an id that is no folder name everywhere."""
        properties.check(self)
        if self.journal_ns and not NS_SAFE.fullmatch(self.journal_ns):
            raise StartupError(f"journalNs is {self.journal_ns!r}, but may only have letters, digits, '.', '_' and '-'")

    def ns(self, bind_address: str, port: int) -> str:
        """The id: the given one, or host and port in letters that every file system and Spark take in a path."""
        if self.journal_ns:
            return self.journal_ns
        host = socket.gethostname() if bind_address in ANY_ADDRESS else bind_address
        return re.sub(r"[^A-Za-z0-9.-]", "-", host)[:100] + f"_{port}"
