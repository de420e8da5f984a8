"""Units of time in microseconds, and a moment as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
