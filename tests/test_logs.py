"""Logging: lines as Java writes them, with text of peers escaped. A slow or absent reader blocks nothing."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns import logs
from rocketns.logs import LINE_CHARACTERS_MAX, STACK_CHARACTERS_MAX, LogWriter, escape, stack_lines, start_logging

NOTICE = re.compile(r"(\d+) log records were dropped: their reader is too slow")
log = logging.getLogger("rocketns.test")


@contextmanager
def restored_root_logger() -> Iterator[None]:
    """Put its handlers, its level and Python's names of levels back at the end."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.addLevelName(logging.WARNING, "WARNING")


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
    writer.emit(record("stuck"))
    assert reader.waits.acquire(timeout=60)
    return writer


def test_a_blocked_reader_never_blocks_and_drops_are_counted(writer: LogWriter, reader: Reader) -> None:
    for number in range(100):
        writer.emit(record(f"r{number}"))
    reader.read(1_000)
    writer.stop()
    expected = ["stuck", "95 log records were dropped: their reader is too slow", "r0", "r1", "r2", "r3", "r4"]
    assert reader.taken == expected


def test_stopping_waits_only_so_long(writer: LogWriter, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "STOP_SECONDS_MAX", 0.01)
    writer.emit(record("never read"))
    writer.stop()
    assert reader.taken == []


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


def test_a_line_is_an_object_with_the_columns_of_its_request(tmp_path: Path) -> None:
    writer = start_logging("INFO", tmp_path, as_json=True)
    log.warning("request code %d failed", 105, extra={"code": 105, "peer": "10.0.0.1:1", "cost_ms": 1.5, "unknown": 1})
    writer.stop()
    line = json.loads((tmp_path / "namesrv.log").read_text("ascii"))
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARN", "thread": "MainThread", "logger": "rocketns.test", "message": "request code 105 failed",
        "code": 105, "peer": "10.0.0.1:1", "cost_ms": 1.5,
    }  # fmt: skip


FORGED = "x\n2026-01-01 00:00:00 INFO MainThread - forged \x1b[2J\x9b\u2028\u202egnihton\x7f\r\0"
SHOWN = r"x\n2026-01-01 00:00:00 INFO MainThread - forged \x1b[2J\x9b\u2028\u202egnihton\x7f\r\x00"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ \S+ - .*")


def lines(folder: Path, *calls: tuple[object, ...], error: Exception | None = None) -> list[str]:
    writer = start_logging("INFO", folder)
    for call in calls:
        log.info(*call)  # type: ignore[arg-type]
    if error is not None:
        try:
            raise error
        except Exception:
            log.exception("failed for %s", FORGED)
    writer.stop()
    return (folder / "namesrv.log").read_text("utf-8").split("\n")[:-1]


def test_a_hostile_name_is_one_line_of_visible_characters(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, ("new topic registered, %s", FORGED))
    assert line.endswith(f" - new topic registered, {SHOWN}")


def test_the_message_of_an_exception_is_one_line_and_its_stack_keeps_its_own(tmp_path: Path) -> None:
    first, *stack = lines(tmp_path, error=ValueError(FORGED))
    assert first.endswith(f"failed for {SHOWN}")
    assert stack[0] == "Traceback (most recent call last):"
    assert stack[1].startswith("  File ")
    assert stack[-1] == f"ValueError: {SHOWN}"
    assert not [line for line in stack if LINE.fullmatch(line)]


def test_a_long_line_is_cut_and_says_its_length(tmp_path: Path) -> None:
    """A topic's name may have 16 MB."""
    (line,) = lines(tmp_path, ("new topic registered, %s", "t" * (16 << 20)))
    assert len(line) < LINE_CHARACTERS_MAX + 200
    assert line.endswith(f"… (cut, {(16 << 20) + 22} characters)")


def test_a_stack_is_bounded() -> None:
    error: Exception = ValueError("first")
    for _ in range(200):
        later = ValueError("x" * LINE_CHARACTERS_MAX)
        later.__cause__, error = error, later
    assert len(stack_lines(error)) < STACK_CHARACTERS_MAX + 50


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    shown = escape(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", shown)
    assert os.linesep not in shown


def test_characters_without_width_are_escaped() -> None:
    """Two names that look alike are told apart."""
    for code in (0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x2060, 0x2070), 0xFEFF, 0xFFF9):
        assert escape(f"a{chr(code)}b") in (f"a\\u{code:04x}b", f"a\\x{code:02x}b")


@pytest.mark.parametrize("hostile", ["\x01\x02", "a\x01", "a\u202e"], ids=["all", "each other", "wide"])
def test_a_line_of_hostile_characters_costs_no_call_for_each(hostile: str) -> None:
    """Control escapes the lines: with a call for each character it took 70 to 140 times as long."""
    calls: list[str] = []
    sys.setprofile(lambda _frame, event, _argument: calls.append(event))
    try:
        escape(hostile * (LINE_CHARACTERS_MAX // 2))
    finally:
        sys.setprofile(None)
    assert len(calls) < 10
