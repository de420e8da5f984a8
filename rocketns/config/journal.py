"""The journal's properties: its folder and its limits. Without ``journalPath`` no journal is written."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from rocketns.addresses import ANY_ADDRESS, bare
from rocketns.config.properties import Effect, OwnConfig, prop
from rocketns.errors import StartupError

START = Effect.START
NS_SAFE = re.compile(r"[A-Za-z0-9._-]{1,128}")
BUFFER_BYTES_MIN = 64 * 1024
BUFFER_BYTES_MAX = 4 * 1024**3
BYTES_MAX = 1 << 40


@dataclass(slots=True)
class JournalConfig(OwnConfig):
    """The properties of the journal."""

    title = "Journal"
    prefix = ""

    journal_path: str = prop("", "folder of the journal; without it no journal is written", START)
    journal_ns: str = prop(
        "", "id of this name server in the journal: letters, digits, '.', '_' and '-'; empty is host and port", START
    )
    journal_retention_days: int = prop(
        30, "age of closed files; 0 is no limit", START, unit="days", at_limit="older files are deleted",
        low=0, high=36_500,
    )  # fmt: skip
    journal_retention_bytes: int = prop(
        10 * 1024**3, "closed files of this name server; 0 is no limit", START, unit="bytes",
        at_limit="the oldest files are deleted", long=True, low=0,
    )  # fmt: skip
    journal_rotation_bytes: int = prop(
        64 * 1024**2, "size of one file", START, unit="bytes", at_limit="a new file is begun", long=True,
        low=1, high=BYTES_MAX,
    )  # fmt: skip
    journal_rotation_seconds: int = prop(
        600, "age of the open file. A reader that sees only closed files is behind by as much", START, unit="s",
        at_limit="a new file is begun", low=1, high=86_400,
    )  # fmt: skip
    journal_snapshot_bytes: int = prop(
        8 * 1024**2, "records since the last snapshot, which a start must read. Each hour has a snapshot, too", START,
        unit="bytes", at_limit="a snapshot is written, but only after as many bytes as the last one had", long=True,
        low=4_096, high=BYTES_MAX,
    )  # fmt: skip
    journal_fsync_ms: int = prop(
        1_000, "time between two writes with fdatasync; a crash loses at most as much", START, unit="ms",
        low=1, high=60_000,
    )  # fmt: skip
    journal_buffer_bytes: int = prop(
        16 * 1024**2, "records that wait for the disk; those of more than 16 KiB take half of it at most", START,
        unit="bytes", at_limit="topics wait for their turn, other records are dropped and counted", long=True,
        low=BUFFER_BYTES_MIN, high=BUFFER_BYTES_MAX,
    )  # fmt: skip
    journal_lookup_seconds: int = prop(
        60, "interval in which route lookups are counted; 0 is no counting", START, unit="s", low=0, high=86_400
    )
    journal_lookup_clients: bool = prop(False, "count route lookups by client address as well", START)
    journal_lookup_keys_max: int = prop(
        20_000, "rows of counted lookups in an interval", START, unit="rows", at_limit="the rest is one row",
        low=0, high=10_000_000,
    )  # fmt: skip

    def __post_init__(self) -> None:
        self.check()

    def check_texts(self) -> None:
        """StartupError for an id that is not a valid folder name everywhere."""
        if self.journal_ns and not NS_SAFE.fullmatch(self.journal_ns):
            raise StartupError(f"journalNs is {self.journal_ns!r}, but may only have letters, digits, '.', '_' and '-'")

    def ns(self, bind_address: str, port: int) -> str:
        """The given id, or one made of host and port, with characters that every file system and Spark accept."""
        if self.journal_ns:
            return self.journal_ns
        host = socket.gethostname() if bare(bind_address) in ANY_ADDRESS else bind_address
        return re.sub(r"[^A-Za-z0-9.-]", "-", host)[:100] + f"_{port}"
