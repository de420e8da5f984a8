"""How two answers to one request compare: the kinds that are counted, in the order in which reports list them."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """One for each pair. Pairs for which the judge had no room were not compared: they are counted as skipped."""

    EQUAL = "equal"  # the same bytes
    ORDER = "order"  # equal but for the order of lists and maps, time stamps, and the numbers of releases and machines
    LISTED = "listed"  # a listed difference of docs/differences.md; its id is counted too
    SETTLED = "settled"  # differed, and was the same when both were asked again
    NOISE = "noise"  # the reference differs from the upstream in the same place
    LATE = "late"  # rocketns answered more than LATE_MS after the upstream
    DIFFERENT = "different"
    MISSING = "missing"  # one of the two gave no answer
    WARMING = "warming"  # differed soon after the start of rocketns, when brokers had not registered there yet


# What an operator looks at before rocketns serves.
UNWANTED = frozenset({Outcome.DIFFERENT, Outcome.LATE, Outcome.MISSING})
