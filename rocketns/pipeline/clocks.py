"""How far the clocks of name servers differ on each day: by data versions, and by the word of the operator (NTP).

A broker sends each registration to all its name servers at once. The first heartbeat in which a name server took a new
data version is a sample: no other matches it, so any offset is measured. The offset is the median of a day's samples,
accepted if at least half of them lie within AGREE_US of it; ``uncertainty`` is by how far these are apart. If a day has
too few, the last ones of the days before count too. Otherwise a clock is as on the day before, and at first it is not
known (method none, offset 0). So a day's offset never depends on a later day.

The reference is the name server that heard the most on the first day on which brokers were heard. A day on which
another one heard more is converted by what is known of the two clocks.

Name servers that were watched from outside all have the times of the observer's clock. Where there are no others, that
clock is the only one, and it is exact. What nothing measures is bounded by the option --clocks (method given).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

# How the offset of a clock was found; OBSERVED: the observer's clock.
REFERENCE, VERSIONS, OBSERVED, GIVEN, NONE = "reference", "versions", "observed", "given", "none"

AGREE_US = 1_000_000
FAR_US = 3_600_000_000  # two heartbeats further apart are not one registration
SAMPLES_MIN = 3


class Server(NamedTuple):
    """A name server on a day: whether it was watched from outside, and how many heartbeats it wrote."""

    observed: bool
    heard: int


class ClockDay(NamedTuple):
    """``samples``: of each new data version, when each name server heard it first, epoch us by its own clock."""

    day: str
    servers: Mapping[str, Server]
    samples: Sequence[Mapping[str, int]] = ()

    @property
    def reference(self) -> str | None:
        """The name server that heard the most."""
        heard = {ns: one.heard for ns, one in self.servers.items() if one.heard}
        return min(heard, key=lambda ns: (-heard[ns], ns), default=None)

    def differences(self) -> Mapping[str, list[int]]:
        """Of each clock the times that it is ahead of the day's reference, us, the last one first."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for ns in self.servers.keys() - {self.reference}:
            both = [one for one in self.samples if ns in one and self.reference in one]
            for one in sorted(both, key=lambda one: one[ns], reverse=True):
                if abs(difference := one[ns] - one[str(self.reference)]) <= FAR_US:
                    found[ns].append(difference)
        return found


class ClockEstimate(NamedTuple):
    """A clock as in CLOCK_DAYS. ``latest``: its last differences, us, the last one first."""

    offset: int = 0
    samples: int = 0
    spread: int = 0
    method: str = NONE
    uncertainty: int | None = None
    latest: tuple[int, ...] = ()


def clock_rows(days: Iterable[ClockDay], within: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Rows of CLOCK_DAYS. ``within``: by how much clocks differ at most (--clocks, us)."""
    reference: str | None = None
    known: dict[str, ClockEstimate] = {}
    for day in sorted(days):
        reference = reference or day.reference
        differences = day.differences()
        shift = _shift(day.reference, reference, differences, known)
        known = {
            ns: ClockEstimate(method=REFERENCE, uncertainty=0)
            if ns == reference
            else _clock(differences.get(ns, ()), known.get(ns, ClockEstimate()), shift, is_local=ns == day.reference)
            for ns in {*day.servers, *known}
        } | _observed(day, known)
        for ns, clock in sorted(known.items()):
            shown = clock if within is None else bounded(clock, within)
            yield day.day, ns, *shown[:4], reference, shown.uncertainty


def _observed(day: ClockDay, before: Mapping[str, ClockEstimate]) -> dict[str, ClockEstimate]:
    """The same clock for all that were watched from outside."""
    watched = {ns for ns, one in day.servers.items() if one.observed}
    watched |= {ns for ns, clock in before.items() if clock.method == OBSERVED}
    exact = 0 if watched >= {*day.servers, *before} else None
    return dict.fromkeys(watched, ClockEstimate(method=OBSERVED, uncertainty=exact))


def _shift(
    local: str | None,
    reference: str | None,
    differences: Mapping[str, Sequence[int]],
    known: Mapping[str, ClockEstimate],
) -> int:
    """How far the clock of the day's reference is ahead of the run's, us."""
    if local is None or reference is None or local == reference:
        return 0
    found = judged(differences.get(reference, ()))
    return known.get(local, ClockEstimate()).offset if found is None else -found.offset


def _clock(differences: Sequence[int], before: ClockEstimate, shift: int, *, is_local: bool) -> ClockEstimate:
    """A name server's clock at the end of a day."""
    if is_local:
        return before._replace(offset=shift) if before.method != NONE else before
    ahead = [difference + shift for difference in differences]
    latest = (*ahead, *before.latest)[:SAMPLES_MIN]
    found = judged(ahead if len(ahead) >= SAMPLES_MIN else latest) if ahead else None
    return (found or before)._replace(latest=latest)


def judged(differences: Sequence[int]) -> ClockEstimate | None:
    """The clock, if enough samples agree."""
    if len(differences) < SAMPLES_MIN:
        return None
    offset = round(median(differences))
    away = [abs(difference - offset) for difference in differences]
    near = [distance for distance in away if distance <= AGREE_US]
    if len(near) * 2 < len(away):
        return None
    return ClockEstimate(offset, len(away), round(median(away)), VERSIONS, max(near))


def bounded(clock: ClockEstimate, within: int) -> ClockEstimate:
    """The clock, if clocks differ by ``within`` at most. One that was measured stays as it was measured."""
    if clock.uncertainty is not None:
        return clock
    return clock._replace(method=GIVEN if clock.method == NONE else clock.method, uncertainty=within)


def contradicts(method: str, offset: int, uncertainty: int | None, within: int) -> bool:
    """Whether a clock was measured to be off from the reference's by more than ``within``."""
    return method == VERSIONS and abs(offset) - (uncertainty or 0) > within
