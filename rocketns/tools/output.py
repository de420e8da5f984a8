"""What the commands print: tables for people, JSON for programs, and their exit statuses.

Nothing of the network controls the terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.languages import N_
from rocketns.logtext import escape, one_line

GAP = "  "
# A column is at most so wide. A longer text moves the rest of its own line, and no other line.
WIDTH_MAX = 100

# As `diff` of the shell has them: 0 same, 1 different, 2 trouble.
EXIT_FOUND = 0
EXIT_DIFFERENT = 1
EXIT_UNREADABLE = 2

_TROUBLE = (EXIT_UNREADABLE, N_("a name server cannot be read, or a wrong option; the message says which"))
EXIT_STATUSES = {
    "get": ((EXIT_FOUND, N_("printed")), (EXIT_DIFFERENT, N_("the topic has no route")), _TROUBLE),
    "top": ((EXIT_FOUND, N_("as many rounds as --rounds were shown")), (EXIT_UNREADABLE, N_("a wrong option"))),
    "health": ((EXIT_FOUND, N_("it answers route lookups")),
               (EXIT_DIFFERENT, N_("it answers, and is not ready; the message has its reason")), _TROUBLE),
    "check": ((EXIT_FOUND, N_("the policy can be used, and allows the request")),
              (EXIT_DIFFERENT,
               N_("the policy cannot be used; or it refuses the request, or would where it only observes")),
              (EXIT_UNREADABLE, N_("a wrong option, or words that are no request"))),
    "views": ((EXIT_FOUND, N_("the views can be used")),
              (EXIT_DIFFERENT, N_("they cannot; or an address is that of several brokers, or a broker is in a view")),
              _TROUBLE),
    "suggest": ((EXIT_FOUND, N_("printed")), (EXIT_DIFFERENT, N_("nothing was refused")),
                (EXIT_UNREADABLE, N_("a journal cannot be read, or a wrong option"))),
    "decode": ((EXIT_FOUND, N_("every byte makes sense")),
               (EXIT_DIFFERENT, N_("some byte does not, or there is no frame; it is printed where")),
               (EXIT_UNREADABLE, N_("the file cannot be read, or a wrong option"))),
    "completion": ((EXIT_FOUND, N_("printed")), (EXIT_UNREADABLE, N_("a wrong option"))),
    "diff": ((EXIT_FOUND, N_("the name servers say the same")), (EXIT_DIFFERENT, N_("they do not")), _TROUBLE),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of texts as they came. They are escaped when they are printed."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def print_table(table: TextTable) -> None:
    """Columns as wide as their longest text, up to WIDTH_MAX. No line ends with blanks, so `cut` can be used too."""
    print(plain(table), flush=True)


def plain(table: TextTable) -> str:
    """The text of a table."""
    rows = [tuple(escape(cell) for cell in row) for row in table.rows]
    widths = [min(WIDTH_MAX, max(map(len, column))) for column in zip(table.head, *rows, strict=True)]
    return "\n".join(_line(row, widths) for row in (table.head, *rows))


def _line(row: Iterable[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# Sentences and tables, one after the other.
Report = list[str | TextTable]


def print_report(report: Report) -> None:
    """Sentences as lines, and an empty line around each table."""
    before: str | TextTable | None = None
    for part in report:
        if before is not None and TextTable in (type(before), type(part)):
            print()
        if isinstance(part, TextTable):
            print_table(part)
        else:
            print_line(part)
        before = part


def print_line(text: str) -> None:
    """A sentence."""
    print(escape(text))


def print_text(text: str) -> None:
    """Text of the program itself, as it is."""
    print(text, end="")


def print_json(value: Any) -> None:
    """One JSON text. All that is not ASCII is escaped: some of it controls terminals."""
    print(json.dumps(value, indent=2, ensure_ascii=True))


def print_json_line(value: Any) -> None:
    """As `print_json`, in one line, at once."""
    print(json.dumps(value, ensure_ascii=True), flush=True)


def complain(text: str) -> None:
    """A line on standard error."""
    print(one_line(text), file=sys.stderr)
