"""Tables that are shown again and again: in place on a terminal with rich, one after the other without."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocketns.logtext import escape
from rocketns.tools.output import TextTable, complain, print_table

if TYPE_CHECKING:
    from rich.console import Group

Show = Callable[[Sequence[TextTable]], None]


@contextmanager
def screen(*, plain_only: bool = False) -> Iterator[Show]:
    """A function that shows tables. On a terminal it takes the whole screen, and gives it back at the end."""
    if plain_only or not sys.stdout.isatty():
        yield _print
        return
    try:
        from rich.live import Live
    except ImportError:
        complain("the screen is not refreshed in place: install rich for that, pip install 'rocketns[tools]'")
        yield _print
        return
    with Live(screen=True, auto_refresh=False) as live:
        yield lambda tables: live.update(_rendered(tables), refresh=True)


def _print(tables: Sequence[TextTable]) -> None:
    for table in tables:
        print_table(table)


def _rendered(tables: Sequence[TextTable]) -> Group:
    """What rich shows. It cuts what has no room, and its markup is never read from a name."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    made = []
    for table in tables:
        one = RichTable(*table.head, box=None, header_style="bold", pad_edge=False)
        for row in table.rows:
            one.add_row(*(Text(escape(cell)) for cell in row))
        made.append(one)
    return Group(*made)
