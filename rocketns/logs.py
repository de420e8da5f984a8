"""Logging in the format of the Java name server: GMT+8 times, to standard output or to Java's log files.

Records wait in a bounded queue, and the log thread writes them. So a slow reader of the log, or none, never delays the
server, not even when it stops. Records that find the queue full are dropped and counted, as by Java's asynchronous
appenders.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import sys
import threading
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path

from rocketns.logtext import JsonFormatter, LineFormatter, one_line, stack_lines

WAITING_RECORDS_MAX = 20_000
WAITING_CHARACTERS_MAX = 16 * 1024 * 1024
STOP_SECONDS_MAX = 1.0
FILE_BYTES_MAX = 100 * 1024 * 1024  # rmq.namesrv.logback.xml
FILES_KEPT_MAX = 10
GMT_8_SECONDS = 8 * 3600

FORMAT = "%(asctime)s %(levelname)s %(threadName)s - %(message)s"


class LogWriter(logging.Handler):
    """Writes records in a daemon thread, by another handler. ``emit`` never waits; ``stop`` waits at most
    STOP_SECONDS_MAX. ``dropped_total`` counts the records that found no room.
    """

    REOPEN = logging.LogRecord("rocketns.logs", logging.INFO, "", 0, "", None, None)

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler
        self._waiting: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._size_lock = threading.Lock()
        self._records = self._characters = self._dropped = 0
        self.dropped_total = 0
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record with its whole message, so that it keeps no object alive, or drop and count it. No other
        handler gets the record.
        """
        try:
            record.msg, record.args = one_line(record.getMessage()), None
            if record.exc_info and record.exc_info[1] is not None:
                record.exc_text, record.exc_info = stack_lines(record.exc_info[1]), None
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
        """Open the log file again: at SIGHUP, which logrotate sends after it renamed the file."""
        self._waiting.put(self.REOPEN)

    @property
    def waiting(self) -> int:
        """The number of records that are not written yet."""
        return self._records

    def _run(self) -> None:
        while (record := self._waiting.get()) is not None:
            if record is self.REOPEN:
                if isinstance(self._handler, RotatingFileHandler):
                    with contextlib.suppress(OSError):
                        self._handler.close()  # the next record opens it
                continue
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
    formatter = LineFormatter(FORMAT, "%Y-%m-%d %H:%M:%S")
    formatter.converter = lambda s: time.gmtime((time.time() if s is None else s) + GMT_8_SECONDS)
    handler.setFormatter(JsonFormatter() if as_json else formatter)
    writer = LogWriter(handler)
    root = logging.getLogger()
    root.handlers = [writer]
    root.setLevel(level)
    return writer
