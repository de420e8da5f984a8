"""What all rooms name alike: verdicts and exit statuses, causes in the journal, units of time, and every default of the
audit, once. Nothing here needs Spark, so `rocketns audit --help` works without it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from rocketns.errors import RocketnsError

EXIT_NOTHING, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_FAILED = 0, 1, 2, 3, 70


class AuditVerdict(StrEnum):
    """The result of a run. Incomplete input is never called clean, whatever else was found."""

    NOTHING = "nothing"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"


STATUS = {
    AuditVerdict.NOTHING: EXIT_NOTHING,
    AuditVerdict.FINDINGS: EXIT_FINDINGS,
    AuditVerdict.INCOMPLETE: EXIT_INCOMPLETE,
}


class BadInput(RocketnsError):
    """Wrong usage, or input that cannot be read. Only the message is printed. It says what to do."""


# A broker was lost: its heartbeats stopped, its connection ended, or it was kept without a sign of life and given up.
FAILURES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")
CONNECTION_ENDED = ("refused", "channel_close", "channel_exception", "channel_idle")
SILENT = ("expired", "unconfirmed")
# Noticed later than by the other name servers: at a deadline, after a restart, or at an observer's next look.
NOTICED_LATE = ("expired", "unconfirmed", "refused", "observed")
GRACEFUL = ("unregister",)
# A watched name server no longer shows it. It may have been lost, or stopped as it should.
OBSERVED = ("observed",)
# The interval ended because the name server ended, or the observation did: the broker may be well.
# What it had when it started, or when an observer began to watch it, and that the observer no longer watched it.
STARTED, WATCHED, UNWATCHED = "start", "watched", "unwatched"
NAME_SERVER_ENDED = ("stop", STARTED, "lost", "silent", WATCHED, UNWATCHED)
STILL_OPEN = "open"
# An interval that ended so says nothing about the topic from then on.
NS_ENDINGS = (STILL_OPEN, *NAME_SERVER_ENDED)

# Why a window may not be a real difference: records were lost, or clocks are not known well enough.
LOST_RECORDS, CLOCKS = "lost_records", "clocks"


SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DAY_US = 24 * HOUR_US
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(us: int) -> datetime:
    """Epoch us as a time in UTC."""
    return EPOCH + timedelta(microseconds=us)


def moment(us: int) -> str:
    """2026-08-03 14:03:05, for people who read a page."""
    return utc(us).strftime("%Y-%m-%d %H:%M:%S")


def day(us: int) -> str:
    """2026-08-03, in UTC."""
    return utc(us).date().isoformat()


def exact_text(us: int) -> str:
    """2026-11-21T14:03:05.250Z, for alerts and for programs."""
    return utc(us).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
