"""What `rocketns collect` is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocketns.client.signer import Signer
from rocketns.collect.names import Named
from rocketns.config.journal import JournalConfig
from rocketns.config.tls import TlsConfig
from rocketns.protocol.codes import KNOWN_NAMESPACES

INTERVAL_S, INTERVAL_S_MIN, INTERVAL_S_MAX = 5.0, 1.0, 300.0
PER_SECOND, PER_SECOND_MIN, PER_SECOND_MAX = 50, 2, 2_000
TIMEOUT_S, TIMEOUT_S_MIN, TIMEOUT_S_MAX = 5.0, 0.1, 60.0
FOR_S_MIN, FOR_S_MAX = 1.0, 366 * 86_400.0
NAMESPACES_MAX = 16
# A hostile name server that shows other routes at each look fills as many bytes, and loses its own history for it.
KEEP_BYTES, KEEP_BYTES_MIN, KEEP_BYTES_MAX = 10 * 1024**3, 8 * 1024**2, 1 << 40
# The file that is being written counts only when it is closed, so it has at most this part of the bytes.
OPEN_FILE_SHARE = 8
KEEP_DAYS, KEEP_DAYS_MAX = 30, 36_500


@dataclass(frozen=True, slots=True)
class Settings:
    """``for_s``: end after this time; None: at a signal. ``namespaces``: of KV items, with those always read.
    ``ask_brokers``: ask brokers that vanished whether they run. ``timeout_s``: for each answer. ``keep_bytes`` and
    ``keep_days``: what is kept of one name server's journal; 0 days is no limit.
    """

    name_servers: list[Named]
    journal: str
    interval_s: float = INTERVAL_S
    per_second: int = PER_SECOND
    namespaces: tuple[str, ...] = KNOWN_NAMESPACES
    ask_brokers: bool = False
    for_s: float | None = None
    timeout_s: float = TIMEOUT_S
    tls: TlsConfig | None = None
    signer: Signer | None = None
    keep_bytes: int = KEEP_BYTES
    keep_days: int = KEEP_DAYS

    @property
    def journal_config(self) -> JournalConfig:
        """Of each name server's journal."""
        config = JournalConfig(journal_path=self.journal)
        file_bytes = min(config.journal_rotation_bytes, self.keep_bytes // OPEN_FILE_SHARE)
        return replace(config, journal_rotation_bytes=file_bytes, journal_retention_days=self.keep_days,
                       journal_retention_bytes=self.keep_bytes - file_bytes)  # fmt: skip
