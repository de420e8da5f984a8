"""The values of options as the command line gives them, checked: each error says what to write."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime
from typing import NamedTuple

from rocketns.addresses import listed
from rocketns.journal.chain import HASH_CHARS
from rocketns.pipeline.saying import _
from rocketns.tools.arguments import DAY_S, seconds_of

GROUP_MIN, GROUP_MAX = 2, 64  # one consumer always agrees with itself
DAYS_MAX = 36_500  # as journalRetentionDays
TIMES_US = range(253_000_000_000 * 1_000_000)  # up to 9987: Python shows times before 10000, and some are added to it
HEAD = re.compile(rf"(?:([A-Za-z0-9._-]+):(\d{{1,18}}):(\d{{1,18}}):)?([0-9a-f]{{{HASH_CHARS}}})")


class Head(NamedTuple):
    """The head of an earlier check. Without name server only the hash is known."""

    ns: str | None
    boot: int
    seq: int
    hash: str

    @classmethod
    def of(cls, text: str) -> Head | None:
        """None if the text is no head."""
        match = HEAD.fullmatch(text.strip())
        return None if match is None else cls(match[1], int(match[2] or 0), int(match[3] or 0), match[4])


def instant(text: str) -> int:
    """Epoch us of an ISO date or time from 1970 on, in UTC unless it has a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            _(
                "%(text)r is not a time: write 2026-11-21, 2026-11-21T14:03 or 2026-11-21T14:03:05.25; a zone is added "
                "as in 2026-11-21T14:03+02:00"
            )
            % {"text": text}
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    us = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if us not in TIMES_US:
        raise argparse.ArgumentTypeError(_("%(text)r: write a time after 1970 and before 9987") % {"text": text})
    return us


def duration(text: str) -> int:
    """Microseconds of 5s, 250ms, 1h30m or 7d; a number without a unit is seconds."""
    seconds = seconds_of(text.strip())
    if seconds is None:
        raise argparse.ArgumentTypeError(
            _("%(text)r is not a duration: write 5s, 250ms, 2m, 1h or 7d") % {"text": text}
        )
    if seconds > DAYS_MAX * DAY_S:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write a duration of at most %(n)sd") % {"text": text, "n": DAYS_MAX}
        )
    return round(seconds * 1_000_000)


def duration_or_folder(text: str) -> int | str:
    """Microseconds if it is written as a duration, otherwise a folder."""
    return folder(text) if seconds_of(text.strip()) is None else duration(text)


def counts(text: str) -> tuple[int, ...]:
    """Sizes of consumer groups, such as 2,3,4."""
    try:
        numbers = tuple(sorted({int(word) for word in listed(text)}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < GROUP_MIN or numbers[-1] > GROUP_MAX:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write sizes of consumer groups from %(least)s to %(most)s, such as 2,3,4")
            % {"text": text, "least": GROUP_MIN, "most": GROUP_MAX}
        )
    return numbers


def setting(text: str) -> tuple[str, str]:
    """spark.a.b=c as a pair."""
    name, equals, value = text.partition("=")
    if not name.startswith("spark.") or not equals:
        raise argparse.ArgumentTypeError(_("%(text)r: write spark.NAME=VALUE") % {"text": text})
    return name, value


def folder(text: str) -> str:
    """A path. Empty text is refused: an unset variable would name the root of the file system."""
    if not text.strip():
        raise argparse.ArgumentTypeError(_("the path is empty: name a folder"))
    return text


def head(text: str) -> Head:
    """The head of a chain of hashes."""
    found = Head.of(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            _("%(text)r is no head: write one as 'rocketns audit verify' prints it") % {"text": text}
        )
    return found


def day_count(text: str) -> int:
    """A number of days, from 1 to DAYS_MAX."""
    if not text.isdecimal() or len(text) > len(str(DAYS_MAX)) or not 1 <= int(text) <= DAYS_MAX:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write a number of days from 1 to %(n)s") % {"text": text, "n": DAYS_MAX}
        )
    return int(text)
