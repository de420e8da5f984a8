"""The text of log records. Text of peers cannot end a line, control a terminal, or fill the disk."""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from types import TracebackType

LINE_CHARACTERS_MAX = 8 * 1024
STACK_CHARACTERS_MAX = 64 * 1024
# C0, DEL and C1; line and paragraph separators; characters that change the direction of writing, or have no width.
HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
ESCAPES = {ord(c): f"\\x{ord(c):02x}" if c < "\u0100" else f"\\u{ord(c):04x}"
           for c in HOSTILE.findall("".join(map(chr, range(0x10000))))}  # fmt: skip
ESCAPES |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
# What a line of JSON or of the log escapes, with what that adds: \\u005cud800 for a lone surrogate in the journal.
ESCAPED = re.compile(f'{HOSTILE.pattern}|["\\\\\ud800-\udfff]')
ESCAPE_BYTES = 6
CUT = re.compile(r"… \(cut, \d+ characters\)\Z")
FRAME = "  File "
# The request code, its peer, its cost and that of the whole turn; and the name of a periodic job.
COLUMNS = ("code", "peer", "cost_ms", "turn_ms", "job")


class LogLimiter:
    """At most one line in a time, so that no peer fills the log. ``every`` is in the unit of the given clock."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._logged: float | None = None
        self._events = 0

    def due(self, now: float) -> int | None:
        """Something happened: how often since the last line, this time included; None while no line is due."""
        self._events += 1
        if self._logged is not None and 0 <= now - self._logged < self._every:
            return None
        events, self._events, self._logged = self._events, 0, now
        return events


ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def escape(text: str) -> str:
    """The text as one line, with escapes for control characters and for changes of direction.

    A call for each match would cost control 0.7 us for each such character of a peer.
    """
    return text.translate(ESCAPES) if HOSTILE.search(text) else text


def one_line(text: str) -> str:
    """Escaped and cut at LINE_CHARACTERS_MAX. A cut line ends with the length of the whole text."""
    line = escape(text[:LINE_CHARACTERS_MAX])
    if len(text) <= LINE_CHARACTERS_MAX and len(line) <= LINE_CHARACTERS_MAX:
        return line
    return f"{line[:LINE_CHARACTERS_MAX]}… (cut, {len(text)} characters)"


def written_bytes(text: str) -> int:
    """What the text takes at most in a line of the log or of the journal: UTF-8, and what its escapes add."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return len(text) + text.count('"')
    return len(text.encode("utf-8", "surrogatepass")) + ESCAPE_BYTES * len(ESCAPED.findall(text))


def shortened(text: str, bytes_max: int) -> str:
    """The first ``bytes_max`` bytes of a text as they are written, and how many characters it has."""
    head = text[:bytes_max]
    while (size := written_bytes(head)) > bytes_max:
        head = head[: len(head) * bytes_max // size]
    return text if len(head) == len(text) else f"{head}… (cut, {len(text)} characters)"


def is_shortened(text: str) -> bool:
    """Whether `shortened` made it."""
    return CUT.search(text) is not None


def stack_lines(error: BaseException) -> str:
    """A traceback in which each message of an exception is one line."""
    parts = traceback.format_exception(error)
    text = "\n".join(line for part in parts for line in _lines_of(part))
    if len(text) <= STACK_CHARACTERS_MAX:
        return text
    return f"{text[:STACK_CHARACTERS_MAX]}… (cut, {len(text)} characters)"


def _lines_of(part: str) -> list[str]:
    """The lines of one element of `traceback.format_exception`: stack frames, a fixed sentence, or a message."""
    text = part.removesuffix("\n")
    is_own = text.startswith((FRAME, "\n"))  # a message begins with the name of its class
    return [one_line(line) for line in (text.split("\n") if is_own else [text])]


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: ``time`` (UTC), ``level``, ``thread``, ``logger``, ``message``, and what it adds.

    Added are ``stack``, and those of COLUMNS that the record was given as ``extra``.
    """

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": when, "level": record.levelname, "thread": record.threadName, "logger": record.name,
                "message": record.getMessage()}  # fmt: skip
        if record.exc_text:
            line["stack"] = record.exc_text
        line |= {name: record.__dict__[name] for name in COLUMNS if name in record.__dict__}
        return json.dumps(line)  # all that is not ASCII is escaped


class LineFormatter(logging.Formatter):
    """Escapes the line of every record. The traceback after it is escaped by `stack_lines`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return escape(super().formatMessage(record))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802
        return "" if ei[1] is None else stack_lines(ei[1])
