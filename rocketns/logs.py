"""The log: what its lines may have, how often one comes, and the thread that writes them, as Java's log or as JSON.

Text of peers cannot end a line, control a terminal, or fill the disk. Records wait in a bounded queue, and the log
thread writes them. So a slow reader of the log, or none, never delays the server, not even when it stops. Records that
find the queue full are dropped and counted, as by Java's asynchronous appenders.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import re
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

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
WAITING_RECORDS_MAX = 20_000
WAITING_CHARACTERS_MAX = 16 * 1024 * 1024
STOP_SECONDS_MAX = 1.0
FILE_BYTES_MAX = 100 * 1024 * 1024  # rmq.namesrv.logback.xml
FILES_KEPT_MAX = 10
GMT_8_SECONDS = 8 * 3600


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
    """Escapes the line of every record. The writer made the traceback after it by `stack_lines`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return escape(super().formatMessage(record))


class LogWriter(logging.Handler):
    """Writes records in a daemon thread, by another handler. ``emit`` never waits; ``stop`` waits at most
    STOP_SECONDS_MAX. ``dropped_total`` counts the records that found no room.
    """

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler
        self._waiting: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._size_lock = threading.Lock()
        self._records = self._characters = self._dropped = 0
        self.dropped_total, self._reopens = 0, False
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record with its whole message, so that it keeps no object alive, or drop and count it. No other
        handler gets the record.
        """
        try:
            record.msg, record.args = one_line(record.getMessage()), None
            if record.exc_info and record.exc_info[1] is not None:
                record.exc_text = stack_lines(record.exc_info[1])
            record.exc_info = None
        except Exception:  # its values do not fit its message
            self.handleError(record)
            return
        with self._size_lock:
            characters = self._characters + _characters(record)
            if self._records >= WAITING_RECORDS_MAX or characters > WAITING_CHARACTERS_MAX:
                self._dropped += 1
                self.dropped_total += 1
                return
            self._records, self._characters = self._records + 1, characters
        self._waiting.put(record)

    def stop(self) -> None:
        """Write the waiting records, for at most STOP_SECONDS_MAX."""
        self._waiting.put(None)
        self._thread.join(STOP_SECONDS_MAX)

    def reopen(self) -> None:
        """Open the log file again, for the next record: at SIGHUP, which logrotate sends after it renamed the file."""
        self._reopens = True

    @property
    def waiting(self) -> int:
        """The number of records that are not written yet."""
        return self._records

    def _run(self) -> None:
        while (record := self._waiting.get()) is not None:
            if self._reopens and isinstance(self._handler, RotatingFileHandler):
                self._reopens = False
                with contextlib.suppress(OSError):
                    self._handler.close()  # this record opens it
            with self._size_lock:
                self._records, self._characters = self._records - 1, self._characters - _characters(record)
                dropped, self._dropped = self._dropped, 0
            for one in (*([_notice(dropped)] if dropped else []), record):
                # Not `handle`: it would have its lock while it waits for a reader, and delay the exit.
                with contextlib.suppress(OSError):  # no reader, or a full disk: nowhere to report it
                    self._handler.emit(one)


def _characters(record: logging.LogRecord) -> int:
    return len(record.msg) + len(record.exc_text or "")


def _notice(dropped: int) -> logging.LogRecord:
    text = f"{dropped} log records were dropped: their reader is too slow"
    return logging.LogRecord("rocketns.logs", logging.WARNING, "", 0, text, None, None)


class _DescriptorHandler(logging.Handler):
    """Writes whole lines to a descriptor, without a buffer: Python would flush the buffer at exit and wait there."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        line = memoryview(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
        while line:
            line = line[os.write(self._descriptor, line) :]


def start_logging(level: str, files_under: Path | None = None, *, as_json: bool = False) -> LogWriter:
    """Log to standard output, or to ``files_under``/namesrv.log. The caller stops the writer at the end.

    ``as_json`` writes lines of JSON instead of Java's format.

    OSError if the log file cannot be written.
    """
    logging.addLevelName(logging.WARNING, "WARN")
    handler: logging.Handler
    if files_under is not None:
        files_under.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            files_under / "namesrv.log", maxBytes=FILE_BYTES_MAX, backupCount=FILES_KEPT_MAX, encoding="utf-8",
            errors="backslashreplace",
        )  # fmt: skip
    elif sys.stdout is None:  # closed before the start; its descriptor may be another file by now
        handler = logging.NullHandler()
    else:
        handler = _DescriptorHandler(sys.stdout.fileno())
    formatter = LineFormatter("%(asctime)s %(levelname)s %(threadName)s - %(message)s", "%Y-%m-%d %H:%M:%S")
    formatter.converter = lambda s: time.gmtime((time.time() if s is None else s) + GMT_8_SECONDS)
    handler.setFormatter(JsonFormatter() if as_json else formatter)
    writer = LogWriter(handler)
    root = logging.getLogger()
    root.handlers = [writer]
    root.setLevel(level)
    return writer
