"""How two answers to one request compare: the kinds that are counted, in the order in which reports list them."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """One for each pair. ``skipped`` pairs, for which the judge had no room, were not compared: they have none."""

    EQUAL = "equal"  # the same bytes, but for the opaque of a request without one
    ORDER = "order"  # equal but for the order of lists and maps, and for time stamps of the server's own clock
    LISTED = "listed"  # a listed difference of docs/differences.md; its id is counted too
    SETTLED = "settled"  # differed, and was the same when both were asked again
    NOISE = "noise"  # the reference differs from the upstream in the same place
    LATE = "late"  # rocketns answered more than LATE_MS after the upstream
    DIFFERENT = "different"
    MISSING = "missing"  # one of the two gave no answer


# What an operator looks at before rocketns serves.
UNWANTED = frozenset({Outcome.DIFFERENT, Outcome.LATE, Outcome.MISSING})
