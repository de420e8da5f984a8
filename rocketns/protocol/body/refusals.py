"""How bodies are refused: remarks that name Java's exception, and limits of numbers of items."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager

from rocketns.errors import BodyDecodeError


@contextmanager
def java_errors() -> Iterator[None]:
    """Puts the class of Java's exception in front of the remark, for requests where Java does so."""
    try:
        yield
    except BodyDecodeError as error:
        raise BodyDecodeError(f"{error.java_class}: {error.remark}") from error


@contextmanager
def compiled_errors() -> Iterator[None]:
    """Compiled readers refuse with a ValueError."""
    try:
        yield
    except ValueError as error:
        raise BodyDecodeError(str(error)) from error


def check_count(values: Sized, most: int, of_what: str) -> None:
    """Refuses more values than the limit."""
    if len(values) > most:
        raise BodyDecodeError(f"more than {most} {of_what}")
