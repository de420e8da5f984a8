"""The language of what people read: whole messages of the catalogue. Texts that programs read stay English."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

from rocketns.languages import language, texts, use

_ = texts("audit")

Say = Callable[[str], None]  # prints a line of progress


def timed_lines() -> Say:
    """Prints each line on standard error, with the seconds since this call."""
    begun = monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"{monotonic() - begun:6.1f} s  {line}\n")
        sys.stderr.flush()

    return say


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Texts within this block are in that language."""
    before = language()
    use(name)
    try:
        yield
    finally:
        use(before)


def shown(said: tuple[str, Mapping[str, object]]) -> str:
    """A message with its values, in the language of the page."""
    message, values = said
    return _(message) % values
