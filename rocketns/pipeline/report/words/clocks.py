"""How well the clock of a name server is known, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from rocketns.journal.reading.clockbounds import Known, contradicts
from rocketns.journal.reading.clocks import GIVEN, HEARTBEATS, NONE, OBSERVED, REFERENCE, VERSIONS
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US
from rocketns.pipeline.report import text

SAY_IT = (
    "If the clocks of all machines are synchronised (NTP), say by how much they differ at most, such as --clocks 1s."
)
NOT_COUNTED = "Differences that clocks alone may explain are not counted. They are marked “clocks”."


def is_sure(method: str, uncertainty: int | None) -> bool:
    """Whether the offset was found in a way that bounds it."""
    return method in (REFERENCE, VERSIONS, GIVEN) or (method == OBSERVED and uncertainty is not None)


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
    said = ", as --clocks says" if method == GIVEN else ""
    return f"to {text.microseconds(uncertainty)}{said}"


def clock_notes(offsets: Iterable[Mapping[str, Any]], within: int | None = None) -> list[str]:
    """A note for all name servers whose clocks are known equally badly, and for each that contradicts ``within``
    (--clocks, us); rows: ns, method, uncertainty, and with ``within`` also offset."""
    rows = list(offsets)
    if within is not None:
        return [*_unknown(rows), *_contradicted(rows, within)]
    return [f"{note} {SAY_IT}" for note in _unknown(rows)]


def given_notes(offsets: Iterable[Mapping[str, Any]], within: int | None) -> list[str]:
    """A note that names the clocks of which --clocks (us) alone says how far they are off; rows: those of OFFSETS."""
    named = sorted(str(row["ns"]) for row in offsets if _is_given(row)) if within is not None else []
    if not named:
        return []
    return [
        f"The clocks of {text.names(named)} and of the reference are taken to differ by {text.microseconds(within)} at "
        "most, as the option --clocks says. The journals show nothing better."
    ]


def _is_given(row: Mapping[str, Any]) -> bool:
    return row["method"] == GIVEN or (row["method"] == OBSERVED and not row["samples"] and bool(row["uncertainty"]))


def _contradicted(rows: Iterable[Mapping[str, Any]], within: int) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: str(row["ns"])):
        if contradicts(Known(row["method"], row["offset"], row["uncertainty"]), within):
            name, off = text.names([str(row["ns"])]), text.microseconds(abs(row["offset"]))
            yield (
                f"The clock of {name} was measured to be {off} off, more than the {text.microseconds(within)} that the "
                "option --clocks says. What was measured counts."
            )


def _unknown(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    unsure = [row for row in rows if not is_sure(row["method"], row["uncertainty"])]
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
            "from the other name servers: too few changes of brokers and topics were seen on both sides. It is taken "
            f"to be off by {text.microseconds(CLOCK_DOUBT_US)} at most. {NOT_COUNTED}"
        )
    return (
        f"Nothing shows how far the {clock} off, since no broker was heard there and at another name server at the "
        f"same time. Times of {names} were not corrected. {NOT_COUNTED}"
    )
