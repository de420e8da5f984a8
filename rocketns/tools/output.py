"""What the commands print: sentences and tables for people, JSON for programs; and their exit statuses.

Nothing of the network controls the terminal.
"""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rocketns.errors import RocketnsError
from rocketns.logs import escape, one_line

GAP = "  "
# A column is at most so wide. A longer text moves the rest of its own line, and no other line.
WIDTH_MAX = 100

# As `diff` of the shell has them: 0 same, 1 different, 2 trouble.
EXIT_FOUND = 0
EXIT_DIFFERENT = 1
EXIT_UNREADABLE = 2
# As of a shell: a program that a signal ended, plus the signal's number.
BY_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of texts as they came. They are escaped when they are printed."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def plain(table: TextTable) -> str:
    """Columns as wide as their longest text, up to WIDTH_MAX. No line ends with blanks, so `cut` can be used too."""
    rows = [tuple(escape(cell) for cell in row) for row in table.rows]
    widths = [min(WIDTH_MAX, max(map(len, column))) for column in zip(table.head, *rows, strict=True)]
    return "\n".join(GAP.join(map(str.ljust, row, widths)).rstrip() for row in (table.head, *rows))


# Sentences and tables, one after the other.
Report = list[str | TextTable]


def print_answer(options: Namespace, value: Any, report: Report) -> None:
    """The same for programs, with ``--json``, and for people."""
    if options.json:
        print_json(value)
    else:
        print_report(report)


def print_report(report: Report) -> None:
    """At once; see `lines_of`."""
    print(*lines_of(report), sep="\n", flush=True)


def lines_of(report: Report) -> Iterator[str]:
    """Sentences as lines, and an empty line around each table."""
    before: str | TextTable | None = None
    for part in report:
        if before is not None and TextTable in (type(before), type(part)):
            yield ""
        yield from plain(part).split("\n") if isinstance(part, TextTable) else [escape(part)]
        before = part


def print_text(text: str) -> None:
    """Text of the program itself, as it is, at once."""
    print(text, end="", flush=True)


def print_json(value: Any) -> None:
    """One JSON text. All that is not ASCII is escaped: some of it controls terminals."""
    print(json.dumps(value, indent=2, ensure_ascii=True))


def run_command(command: str, run: Callable[[], int]) -> int:
    """The exit status that ``run`` returns. What cannot be read or written is said on standard error, a line each."""
    logging.getLogger("rocketns").addHandler(logging.NullHandler())
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what its encoding lacks
    failed: Sequence[Exception] = ()
    try:
        status = run()
        print_text("")  # the disk may be full
        return status
    except KeyboardInterrupt:
        return BY_SIGNAL + signal.SIGINT
    except BrokenPipeError:  # `rocketns get topics | head`
        status = BY_SIGNAL + signal.SIGPIPE
    except (RocketnsError, OSError) as error:
        status, failed = EXIT_UNREADABLE, (error,)
    except ExceptionGroup as errors:
        status, failed = EXIT_UNREADABLE, errors.exceptions
    for one in failed:
        complain(f"{command}: {one}")
    with suppress(OSError):
        print_text("")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # when Python ends, it writes the rest, which would fail once more
    return status


def complain(text: str) -> None:
    """A line on standard error."""
    print(one_line(text), file=sys.stderr)
