"""Colours, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO


class Colour(StrEnum):
    """Escape sequences of ECMA-48."""

    BOLD = "\x1b[1m"
    RED = "\x1b[1;31m"
    YELLOW = "\x1b[1;33m"
    GREEN = "\x1b[1;32m"
    CYAN = "\x1b[36m"
    DIM = "\x1b[2m"


RESET = "\x1b[0m"


class Palette:
    """Paints where ``is_on``."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> Palette:
        """On for a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb."""
        return cls(is_on=stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")

    def paint(self, colour: Colour, text: str) -> str:
        """The text, which is escaped already, in a colour."""
        return f"{colour}{text}{RESET}" if self._is_on and text else text
