"""Logging: lines as Java writes them. A slow or absent reader blocks nothing."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rocketns import logs
from rocketns.logs import LogWriter, log_folder, start_logging
from tests.support.rootlogger import restored_root_logger

NOTICE = re.compile(r"(\d+) log records were dropped: their reader is too slow")
log = logging.getLogger("rocketns.test")


@pytest.fixture(autouse=True)
def _root_logger_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logs, "STOP_SECONDS_MAX", 60.0)  # a busy machine is no failure
    with restored_root_logger():
        yield


class Reader(logging.Handler):
    """Takes a record only when a test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = threading.Semaphore(0)
        self.waits = threading.Semaphore(0)
        self.taken: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.waits.release()
        self.reads.acquire()
        self.taken.append(record.getMessage())

    def read(self, count: int) -> None:
        self.reads.release(count)


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("rocketns.test", logging.INFO, "", 0, message, None, None)


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.read(1_000)


@pytest.fixture
def writer(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> LogWriter:
    """One whose reader has begun to take a first record, and got stuck with it."""
    monkeypatch.setattr(logs, "WAITING_RECORDS_MAX", 5)
    monkeypatch.setattr(logs, "WAITING_CHARACTERS_MAX", 1000)
    writer = LogWriter(reader)
    writer.put(record("stuck"))
    assert reader.waits.acquire(timeout=60)
    return writer


def test_a_blocked_reader_never_blocks_and_drops_are_counted(writer: LogWriter, reader: Reader) -> None:
    for number in range(100):
        writer.put(record(f"r{number}"))
    reader.read(1_000)
    writer.stop()
    expected = ["stuck", "95 log records were dropped: their reader is too slow", "r0", "r1", "r2", "r3", "r4"]
    assert reader.taken == expected


def test_drops_are_counted_anew_after_they_were_told(writer: LogWriter, reader: Reader) -> None:
    for number in range(7):
        writer.put(record(f"r{number}"))
    reader.read(2)  # the first record, and the notice
    for _ in range(2):
        assert reader.waits.acquire(timeout=60)
    writer.put(record("there is room for one"))
    writer.put(record("and not for this"))
    reader.read(1_000)
    writer.stop()
    counts = [int(match[1]) for line in reader.taken if (match := NOTICE.fullmatch(line))]
    assert counts == [2, 1]
    assert "there is room for one" in reader.taken
    assert "and not for this" not in reader.taken


def test_long_records_have_a_limit_of_their_own(writer: LogWriter, reader: Reader) -> None:
    for message in ("a" * 999, "bb", "c", "d" * 5000):
        writer.put(record(message))
    reader.read(1_000)
    writer.stop()
    assert [line for line in reader.taken if not NOTICE.fullmatch(line)] == ["stuck", "a" * 999, "c"]
    assert [int(match[1]) for line in reader.taken if (match := NOTICE.fullmatch(line))] == [2]


def test_stopping_waits_only_so_long(writer: LogWriter, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "STOP_SECONDS_MAX", 0.01)
    writer.put(record("never read"))
    writer.stop()
    assert reader.taken == []


def test_a_reader_that_fails_is_passed_over() -> None:
    class Gone(logging.Handler):
        taken = 0

        def emit(self, _record: logging.LogRecord) -> None:
            self.taken += 1
            raise BrokenPipeError

    gone = Gone()
    writer = LogWriter(gone)
    for number in range(3):
        writer.put(record(str(number)))
    writer.stop()
    assert gone.taken == 3


class Stdout:
    """Standard output as a pipe whose other end the test holds. Not a fixture: pytest sets its own after those."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read_end, self.write_end = os.pipe()
        monkeypatch.setattr(sys, "stdout", self)

    def fileno(self) -> int:
        return self.write_end

    def fill(self) -> int:
        """Write until the pipe is full; the number of bytes."""
        os.set_blocking(self.write_end, False)
        written = 0
        with suppress(BlockingIOError):
            while True:
                written += os.write(self.write_end, b"x" * 4096)
        os.set_blocking(self.write_end, True)
        return written


def test_a_pipe_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a real pipe, full before the first line: its records wait, and everything after them is counted."""
    monkeypatch.setattr(logs, "WAITING_RECORDS_MAX", 50)
    stdout = Stdout(monkeypatch)
    filling = stdout.fill()
    writer = start_logging("INFO")
    for number in range(2_000):
        log.info("line %d", number)
    with os.fdopen(stdout.read_end, "rb") as reading, ThreadPoolExecutor() as threads:
        text = threads.submit(reading.read)
        writer.stop()
        os.close(stdout.write_end)
        lines = text.result()[filling:].decode().splitlines()
    messages = [line.split(" - ", 1)[1] for line in lines]
    numbers = [int(message.split()[1]) for message in messages if message.startswith("line ")]
    dropped = sum(int(match[1]) for message in messages if (match := NOTICE.fullmatch(message)))
    assert numbers == sorted(numbers)
    assert len(numbers) + dropped == 2_000
    assert 50 <= len(numbers) <= 51


def test_a_line_reads_as_in_javas_log(tmp_path: Path) -> None:
    """GMT+8 times, Java's level names, the stack of an error, and characters that no file can hold."""
    writer = start_logging("INFO", tmp_path / "logs")
    moment = logging.LogRecord("rocketns.test", logging.WARNING, "", 0, "at %s", ("x",), None)
    moment.created = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
    logging.getLogger().handle(moment)
    log.debug("not this")
    log.info("lone \ud800 é")
    try:
        raise ValueError("boom")
    except ValueError:
        log.exception("failed")
    writer.stop()
    first, second, third, *stack = (tmp_path / "logs" / "namesrv.log").read_text("utf-8").splitlines()
    assert first == "2023-11-15 06:13:20 WARN MainThread - at x"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO MainThread - lone \\ud800 é", second)
    assert third.endswith(" ERROR MainThread - failed")
    assert (stack[0], stack[-1]) == ("Traceback (most recent call last):", "ValueError: boom")


def test_standard_output_gets_the_same_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = Stdout(monkeypatch)
    writer = start_logging("WARNING")
    log.info("not this")
    log.warning("this \ud800")
    writer.stop()
    os.close(stdout.write_end)
    with os.fdopen(stdout.read_end, "rb") as reading:
        assert re.fullmatch(rb"[-\d]{10} [:\d]{8} WARN MainThread - this \\ud800\n", reading.read())


def test_without_a_standard_output_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    writer = start_logging("INFO")
    log.info("nowhere")
    writer.stop()


def test_the_folder_is_javas(tmp_path: Path) -> None:
    assert log_folder(tmp_path) == tmp_path / "logs" / "rocketmqlogs"


def test_a_log_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"file|directory"):
        start_logging("INFO", tmp_path / "file")
