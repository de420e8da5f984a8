"""Logging as the Java name server's log reads: GMT+8 times, to standard output or to Java's log files.

Records go through a bounded queue to a thread of their own, so that a reader who is slow or gone never holds the
server; what does not fit is dropped and counted, as Java's asynchronous appenders do.
"""

from __future__ import annotations

import logging
import queue
import sys
import time
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path

RECORDS_MAX = 20_000
FILE_BYTES_MAX = 100 * 1024 * 1024  # rmq.namesrv.logback.xml
FILES_KEPT_MAX = 10
GMT_8_SECONDS = 8 * 3600

FORMAT = "%(asctime)s %(levelname)s %(threadName)s - %(message)s"


def _gmt_8(seconds: float | None) -> time.struct_time:
    return time.gmtime((time.time() if seconds is None else seconds) + GMT_8_SECONDS)


class _DroppingQueueHandler(QueueHandler):
    """Counts what the full queue could not take, and says so as soon as there is room."""

    dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self.dropped += 1
            return
        if self.dropped:
            count, self.dropped = self.dropped, 0
            logging.getLogger("rocketns.logs").warning("%d log records were dropped: their reader is too slow", count)


def log_folder(home: Path) -> Path:
    """Where Java's name server logs."""
    return home / "logs" / "rocketmqlogs"


def start_logging(level: str, files_under: Path | None = None) -> QueueListener:
    """Log to standard output, or to ``files_under``/namesrv.log. Stop the listener to write out the rest.

    OSError if the log file cannot be written.
    """
    logging.addLevelName(logging.WARNING, "WARN")
    formatter = logging.Formatter(FORMAT, "%Y-%m-%d %H:%M:%S")
    formatter.converter = _gmt_8
    handler = logging.StreamHandler(sys.stdout) if files_under is None else _file_handler(files_under)
    handler.setFormatter(formatter)
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(RECORDS_MAX)
    root = logging.getLogger()
    root.handlers = [_DroppingQueueHandler(waiting)]
    root.setLevel(level)
    listener = QueueListener(waiting, handler)
    listener.start()
    return listener


def _file_handler(folder: Path) -> logging.Handler:
    folder.mkdir(parents=True, exist_ok=True)
    return RotatingFileHandler(
        folder / "namesrv.log", maxBytes=FILE_BYTES_MAX, backupCount=FILES_KEPT_MAX, encoding="utf-8"
    )
