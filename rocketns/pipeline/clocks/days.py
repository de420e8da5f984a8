"""The clock offsets of each day, from the estimates of the days one after another. Plain values.

A day's offset depends on that day and those before it, never on later ones. So a run can go on where an earlier one
stopped. The reference stays the same: that of the first day on which brokers were heard. A day that was estimated
against another name server is converted by what is known of the two clocks.

Of each name server, in this order: the versions of the day; the last SAMPLES_MIN versions of it and the days before;
the offset of the day before, if an earlier day knew it by versions and the heartbeats of this day do not contradict
it; the heartbeats of the day; the offset of the day before; none. Heartbeats show an offset up to a multiple of their
period. If they agree with the known offset but for less than AGREE_US, the clock drifted, and the offset follows.

Name servers that were observed from outside all have the times of the observer's clock, and one estimate: from changes
of the day that both sides saw, or that of the day before. Without one the offset is 0, and nothing bounds it. Where
there are no other name servers, that clock is the only one, and it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

from rocketns.pipeline.clocks.estimates import HEARTBEATS, NONE, OBSERVED, REFERENCE, SAMPLES_MIN, VERSIONS
from rocketns.pipeline.clocks.looks import AGREE_US

Row = Mapping[str, Any]


class Clock(NamedTuple):
    """What is known of a name server's clock, as in CLOCK_DAYS. ``latest``: the last differences of versions, us, the
    last one first."""

    offset: int = 0
    samples: int = 0
    spread: int = 0
    method: str = NONE
    uncertainty: int | None = None
    latest: tuple[int, ...] = ()


class Clocks(NamedTuple):
    """The clocks at the end of ``days``, whose rows of CLOCK_DAYS these are."""

    reference: str | None = None
    known: Mapping[str, Clock] = {}
    days: tuple[tuple[Any, ...], ...] = ()


def chained(estimates: Iterable[Row], before: Clocks) -> Clocks:
    """The clocks after the days of ``estimates.of_day``, which come after those of ``before``."""
    clocks = before
    for day, rows in groupby(sorted(estimates, key=itemgetter("dt")), itemgetter("dt")):
        clocks = _after(day, list(rows), clocks)
    return clocks


def _after(day: str, rows: list[Row], before: Clocks) -> Clocks:
    estimated: dict[str, dict[str | None, Row]] = {}
    for row in rows:
        estimated.setdefault(row["ns"], {})[row["method"]] = row
    local = rows[0]["reference"]
    reference = before.reference or local
    shift = _shift(estimated, local, reference, before.known)
    known = {
        ns: Clock(method=REFERENCE, uncertainty=0)
        if ns == reference
        else _clock(estimated.get(ns, {}), before.known.get(ns, Clock()), shift, is_local=ns == local)
        for ns in {*estimated, *before.known}
    }
    known |= _of_observer(known, estimated, before.known, shift)
    shown = tuple((day, ns, *clock[:4], reference, clock.uncertainty) for ns, clock in sorted(known.items()))
    return Clocks(reference, known, (*before.days, *shown))


def _of_observer(
    known: Mapping[str, Clock],
    estimated: Mapping[str, Mapping[str | None, Row]],
    before: Mapping[str, Clock],
    shift: int,
) -> dict[str, Clock]:
    """The same clock for all observed name servers."""
    rows = [rows[OBSERVED] for rows in estimated.values() if OBSERVED in rows]
    observed = {ns for ns, rows in estimated.items() if OBSERVED in rows}
    observed |= {ns for ns, clock in known.items() if clock.method == OBSERVED}
    if observed >= known.keys():
        clock = Clock(method=OBSERVED, uncertainty=0)
    elif rows and rows[0].get("offset") is not None and accepted(rows[0]):
        clock = _of_row(rows[0], shift)
    else:
        earlier = (clock for clock in before.values() if clock.method == OBSERVED and clock.samples)
        clock = next(earlier, Clock(method=OBSERVED))
    return dict.fromkeys(sorted(observed), clock)


def _shift(
    estimated: Mapping[str, Mapping[str | None, Row]],
    local: str | None,
    reference: str | None,
    known: Mapping[str, Clock],
) -> int:
    """How far the clock of the day's reference is ahead of the run's."""
    if local is None or reference is None or local == reference:
        return 0
    of_reference = estimated.get(reference, {})
    if VERSIONS in of_reference and accepted(of_reference[VERSIONS]):
        return -int(of_reference[VERSIONS]["offset"])
    if local in known and known[local].method != NONE:
        return known[local].offset
    if HEARTBEATS in of_reference and accepted(of_reference[HEARTBEATS]):
        return -int(of_reference[HEARTBEATS]["offset"])
    return 0


def _clock(estimated: Mapping[str | None, Row], before: Clock, shift: int, *, is_local: bool) -> Clock:
    """A name server's clock at the end of a day, from the day's estimates by method."""
    if is_local:
        return before._replace(offset=shift) if before.method != NONE else before
    versions, beats = estimated.get(VERSIONS), estimated.get(HEARTBEATS)
    latest = before.latest
    if versions is not None:
        latest = (*[difference + shift for difference in versions["latest"]], *before.latest)[:SAMPLES_MIN]
        if accepted(versions):
            return _of_row(versions, shift)._replace(latest=latest)
        if versions["samples"] < SAMPLES_MIN and (found := _of_latest(latest)) is not None:
            return found
    beat = _of_row(beats, shift) if beats is not None and accepted(beats) else None
    if before.method == VERSIONS and (followed := _followed(before, beat)) is not None:
        return followed._replace(latest=latest)
    return (beat or before)._replace(latest=latest)


def accepted(row: Row) -> bool:
    """Whether enough samples of an estimate agree."""
    needed = 1 if row["method"] == HEARTBEATS else SAMPLES_MIN
    if row["method"] == OBSERVED:  # of two halves that meet at different offsets neither is right for sure
        return bool(row["samples"] >= needed and row["agreeing"] * 2 > row["samples"])
    return bool(row["samples"] >= needed and row["agreeing"] * 2 >= row["samples"])


def _of_row(row: Row, shift: int) -> Clock:
    return Clock(row["offset"] + shift, row["samples"], row["spread"], row["method"], row["uncertainty"])


def _of_latest(latest: tuple[int, ...]) -> Clock | None:
    """From versions of several days; None if there are too few, or they do not agree."""
    if len(latest) < SAMPLES_MIN:
        return None
    offset = round(median(latest))
    away = [abs(difference - offset) for difference in latest]
    near = [distance for distance in away if distance <= AGREE_US]
    if len(near) * 2 < len(latest):
        return None
    return Clock(offset, len(latest), round(median(away)), VERSIONS, max(near), latest)


def _followed(before: Clock, beat: Clock | None) -> Clock | None:
    """The offset of the day before, as far as the heartbeats of the day let it be; None if they contradict it."""
    if beat is None or not beat.uncertainty:
        return before
    period = beat.uncertainty
    drift = (beat.offset - before.offset + period // 2) % period - period // 2
    return before._replace(offset=before.offset + drift) if abs(drift) <= AGREE_US else None
