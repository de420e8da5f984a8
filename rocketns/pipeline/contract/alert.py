"""An alert of the stream, as its memory and its outlets know it."""

from __future__ import annotations

from typing import NamedTuple


class Alert(NamedTuple):
    """An alert that is open. Times are epoch us."""

    alert: str
    kind: str
    key: str
    since: int
    opened: int
    text: str
