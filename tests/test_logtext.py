"""Text of peers in the log: escaped, on one line, and of bounded length."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.logs import start_logging
from rocketns.logtext import LINE_CHARACTERS_MAX, STACK_CHARACTERS_MAX, escape, one_line, stack_lines
from tests.support.rootlogger import restored_root_logger

FORGED = "x\n2026-01-01 00:00:00 INFO MainThread - forged \x1b[2J\x9b\u2028\u202egnihton\x7f\r\0"
SHOWN = r"x\n2026-01-01 00:00:00 INFO MainThread - forged \x1b[2J\x9b\u2028\u202egnihton\x7f\r\x00"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ \S+ - .*")
log = logging.getLogger("rocketns.test")


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """The file that the log goes to; written whole by `lines`."""
    with restored_root_logger():
        yield tmp_path


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


def test_a_hostile_name_is_one_line_of_visible_characters(written: Path) -> None:
    (line,) = lines(written, ("new topic registered, %s", FORGED))
    assert line.endswith(f" - new topic registered, {SHOWN}")


@pytest.mark.parametrize("hostile", ["\x01\x02", "a\x01", "a\u202e"], ids=["all", "each other", "wide"])
def test_a_line_of_hostile_characters_costs_little_more_than_another(hostile: str) -> None:
    """Control escapes the lines: with a call for each character it took 70 to 140 times as long."""
    assert cpu_seconds(hostile * (LINE_CHARACTERS_MAX // 2)) < 40 * cpu_seconds("aa" * (LINE_CHARACTERS_MAX // 2))


def cpu_seconds(text: str) -> float:
    """The least of several runs."""
    took = []
    for _ in range(20):
        began = time.thread_time()
        escape(text)
        took.append(time.thread_time() - began)
    return min(took)


def test_the_message_of_an_exception_is_one_line_and_its_stack_keeps_its_own(written: Path) -> None:
    first, *stack = lines(written, error=ValueError(FORGED))
    assert first.endswith(f"failed for {SHOWN}")
    assert stack[0] == "Traceback (most recent call last):"
    assert stack[1].startswith("  File ")
    assert stack[-1] == f"ValueError: {SHOWN}"
    assert not [line for line in stack if LINE.fullmatch(line)]


def test_the_messages_of_causes_are_escaped_too() -> None:
    try:
        try:
            raise KeyError("a")
        except KeyError as cause:
            error = RuntimeError("second" + FORGED)
            raise error from cause
    except RuntimeError as raised:
        text = stack_lines(raised)
    assert "The above exception was the direct cause of the following exception:" in text.split("\n")
    assert f"RuntimeError: second{SHOWN}" in text.split("\n")


def test_a_long_line_is_cut_and_says_its_length(written: Path) -> None:
    """A topic's name may have 16 MB."""
    (line,) = lines(written, ("new topic registered, %s", "t" * (16 << 20)))
    assert len(line) < LINE_CHARACTERS_MAX + 200
    assert line.endswith(f"… (cut, {(16 << 20) + 22} characters)")


def test_a_line_of_escapes_is_as_short() -> None:
    assert len(one_line("\u2028" * (16 << 20))) < LINE_CHARACTERS_MAX + 50
    assert len(one_line("\u2028" * LINE_CHARACTERS_MAX)) < LINE_CHARACTERS_MAX + 50


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


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_visible_characters_stay(text: str) -> None:
    assert escape(text) == text
