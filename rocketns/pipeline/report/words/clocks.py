"""How well the clock of a name server is known, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from rocketns.journal.reading.clocks import HEARTBEATS, NONE, OBSERVED, REFERENCE, VERSIONS
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US
from rocketns.pipeline.report import text

NOT_COUNTED = "Differences that clocks alone may explain are not counted. They are marked “clocks”."


def is_sure(method: str, uncertainty: int | None) -> bool:
    """Whether the offset was found in a way that bounds it."""
    return method in (REFERENCE, VERSIONS) or (method == OBSERVED and uncertainty is not None)


def known_to(method: str, uncertainty: int | None) -> str:
    """How well an offset is known: ``to 20 ms``, ``up to a multiple of 30 s``."""
    if method == REFERENCE:
        return "as the reference"
    if method == NONE or uncertainty is None:
        return "not at all"
    if method == OBSERVED and not uncertainty:
        return "as the only clock: the observer's"
    if method == HEARTBEATS:
        return f"up to a multiple of {text.microseconds(uncertainty)}"
    return f"to {text.microseconds(uncertainty)}"


def clock_notes(offsets: Iterable[Mapping[str, Any]]) -> list[str]:
    """A note for all name servers whose clocks are known equally badly; rows: ns, method, uncertainty."""
    unsure = [row for row in offsets if not is_sure(row["method"], row["uncertainty"])]
    unsure.sort(key=lambda row: (row["method"], row["uncertainty"] or 0, row["ns"]))
    return [
        _note(*known, [str(row["ns"]) for row in rows])
        for known, rows in groupby(unsure, key=lambda row: (row["method"], row["uncertainty"]))
    ]


def _note(method: str, uncertainty: int | None, servers: list[str]) -> str:
    names = text.names(servers)
    clock, taken = (f"clock of {names} is", "It is") if len(servers) == 1 else (f"clocks of {names} are", "They are")
    if method == HEARTBEATS:
        return (
            f"The {clock} known only {known_to(method, uncertainty)}: too few brokers changed their data version, and "
            f"heartbeats repeat. {taken} taken to be off by {text.microseconds(CLOCK_DOUBT_US)} at most. {NOT_COUNTED}"
        )
    if method == OBSERVED:
        it = "it" if len(servers) == 1 else "them"
        return (
            f"The times of {names} are those of the machine that watched {it}. Nothing shows how far its clock is off "
            "from the other name servers: too few registrations were seen on both sides. It is taken to be off by "
            f"{text.microseconds(CLOCK_DOUBT_US)} at most. {NOT_COUNTED}"
        )
    return (
        f"Nothing shows how far the {clock} off, since no broker was heard there and at another name server at the "
        f"same time. Times of {names} were not corrected. {NOT_COUNTED}"
    )
