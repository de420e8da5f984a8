"""The journal's properties: where it is written, and its limits with their units. No ``journalPath``, no journal."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from rocketns.config.properties import Effect, prop
from rocketns.errors import StartupError

START = Effect.START
ANY_ADDRESS = ("", "0.0.0.0", "::")
NS_SAFE = re.compile(r"[A-Za-z0-9._-]{1,128}")
BUFFER_BYTES_MIN = 64 * 1024


@dataclass(slots=True)
class JournalConfig:
    """Sizes are bytes; what is below its least sensible value counts as that."""

    journal_path: str = prop("", "folder that the journal is written below; without it there is no journal", START)
    journal_ns: str = prop("", "this name server's id in the journal; by default its host and port", START)
    journal_retention_days: int = prop(30, "days after which closed files are deleted; 0 = never", START)
    journal_retention_bytes: int = prop(
        10 * 1024**3,
        "bytes of closed files of this name server; beyond it the oldest go; 0 = no limit",
        START,
        long=True,
    )
    journal_rotation_bytes: int = prop(64 * 1024**2, "bytes after which another file is begun", START, long=True)
    journal_rotation_seconds: int = prop(600, "s after which another file is begun; readers see closed files", START)
    journal_fsync_ms: int = prop(1_000, "ms between two writes with fdatasync: what a crash may take", START)
    journal_buffer_bytes: int = prop(
        16 * 1024**2, "bytes that may wait for the disk; beyond it records are dropped and counted", START, long=True
    )
    journal_lookup_seconds: int = prop(60, "s of route look-ups that one row counts; 0 = none are counted", START)
    journal_lookup_clients: bool = prop(False, "count look-ups by client address as well", START)
    journal_lookup_keys_max: int = prop(20_000, "rows of look-ups in an interval; the rest goes into one row", START)

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise what is too small to work with; StartupError for an id that is no folder name everywhere."""
        self.journal_rotation_bytes = max(self.journal_rotation_bytes, 1)
        self.journal_rotation_seconds = max(self.journal_rotation_seconds, 1)
        self.journal_fsync_ms = max(self.journal_fsync_ms, 1)
        self.journal_buffer_bytes = max(self.journal_buffer_bytes, BUFFER_BYTES_MIN)
        self.journal_lookup_keys_max = max(self.journal_lookup_keys_max, 0)
        if self.journal_ns and not NS_SAFE.fullmatch(self.journal_ns):
            raise StartupError(f"journalNs is {self.journal_ns!r}, but may only have letters, digits, '.', '_' and '-'")

    def ns(self, bind_address: str, port: int) -> str:
        """The id: the given one, or host and port in letters that every file system and Spark take in a path."""
        if self.journal_ns:
            return self.journal_ns
        host = socket.gethostname() if bind_address in ANY_ADDRESS else bind_address
        return re.sub(r"[^A-Za-z0-9.-]", "-", host)[:100] + f"_{port}"
