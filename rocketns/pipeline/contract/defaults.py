"""Every default of the audit, once: the command line, its help, the jobs and the stream all take it from here.

Nothing here needs Spark, so `rocketns audit --help` works without it.
"""

from __future__ import annotations

# Shorter disagreements are registration jitter: a broker reaches the name servers one after another.
MIN_WINDOW_US = 5_000_000
# Numbers of consumers that the impact is computed for.
GROUP_SIZES = (2, 3, 4)
# Days without a lookup after which a topic is called dead.
DEAD_DAYS = 7
# A run takes a name server without a stop record to be up until the end of the observation if its last record is not
# older than this. Brokers send heartbeats every 30 s, so after a longer silence the server or its files are gone.
SILENT_AFTER_US = 120_000_000
# journalRotationSeconds, for journals that do not name theirs: so much may be in a file that is not closed yet.
ROTATE_US = 600_000_000
# How far clocks are taken to differ at most where nothing shows their offset for certain.
CLOCK_DOUBT_US = 600_000_000

# How often the stream looks for new records.
EVERY_US = 3_000_000
# How late a heartbeat may be at one name server before the stream alerts a partition.
GRACE_US = 8_000_000
# How far a journal may lag behind the others before the stream calls its name server silent: a name server writes at
# least a record a minute.
STREAM_SILENT_AFTER_US = 90_000_000

# RocketMQ's heartbeat timeout and scan interval, for brokers that name no timeout of their own.
TIMEOUT_MS = 120_000
SCAN_US = 5_000_000


def seconds(us: int) -> str:
    """A default as the help shows it: ``5s``."""
    return f"{us / 1e6:g}s"
