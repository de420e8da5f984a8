"""How a shadow stands at a moment, and the verdict on it: the sentence that everything shown to people begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.pairs import UNWANTED, Outcome

# The exit criterion of docs/migration.md: as long without a difference.
READY_AFTER_MS = 24 * 3_600_000
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))

# What the outcomes mean, in the words of docs/shadow.md.
MEANINGS = {
    Outcome.EQUAL: "the same bytes",
    Outcome.ORDER: "equal but for order, times, release and machine",
    Outcome.LISTED: "a listed difference",
    Outcome.SETTLED: "the same when asked again",
    Outcome.NOISE: "the reference differs as well",
    Outcome.LATE: "rocketns answered a second later",
    Outcome.DIFFERENT: "different",
    Outcome.MISSING: "one did not answer",
    Outcome.WARMING: "differed before brokers had registered; not counted",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Times are the wall clock's, in milliseconds. ``relay`` has its numbers by name; ``half`` says how the own half
    is. Only ``counts`` has texts of peers."""

    counts: Counts
    upstream: str
    began_ms: int
    now_ms: int
    reference: str | None = None
    half: str = ""
    relay: Mapping[str, float] = field(default_factory=dict)

    @property
    def ran_ms(self) -> int:
        """Since its start."""
        return max(self.now_ms - self.began_ms, 0)


class Mood(StrEnum):
    """For colours and exit statuses."""

    GOOD = "ok"
    WAITING = "attention"
    BAD = "critical"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence, and what explains it. ``reasons`` have texts of peers."""

    mood: Mood
    sentence: str
    reasons: tuple[str, ...] = ()


def verdict_on(standing: Standing) -> Verdict:
    """Whether rocketns answers as the upstream does."""
    counts = standing.counts
    if counts.unwanted:
        return _bad(standing)
    ran = duration(standing.ran_ms)
    if not counts.judged:
        return Verdict(Mood.WAITING, f"no answers were compared in {ran}")
    sentence = f"0 different of {number(counts.judged)} answers in {ran}"
    if counts.skipped:
        return Verdict(Mood.WAITING, f"{sentence}; {number(counts.skipped)} more were not compared")
    if standing.ran_ms < READY_AFTER_MS:
        return Verdict(Mood.GOOD, f"{sentence}; enough after {duration(READY_AFTER_MS)} without a difference")
    return Verdict(Mood.GOOD, f"{sentence}; enough to replace a name server")


def _bad(standing: Standing) -> Verdict:
    counts = standing.counts
    kinds = ", ".join(f"{number(counts.of(one))} {one}" for one in Outcome if one in UNWANTED and counts.of(one))
    ran = duration(standing.ran_ms)
    sentence = f"{number(counts.unwanted)} of {number(counts.judged)} answers in {ran} differ: {kinds}"
    most = [f"most often {name}" for name, _ in list(counts.by_request())[:1]]
    firsts = sorted(counts.samples, key=lambda kept: -kept.times)[:3]
    paths = [f"{kept.request}: {what(kept.differences[0].path if kept.differences else kept.note)}" for kept in firsts]
    last = standing.now_ms - (counts.different_ms or standing.now_ms)
    return Verdict(Mood.BAD, sentence, (*most, *paths, f"the last one {duration(max(last, 0))} ago"))


def what(text: str) -> str:
    """What differs, for a sentence."""
    return text or "it differs"


def number(value: float) -> str:
    """With commas between thousands."""
    return f"{value:,.0f}"


def duration(ms: float) -> str:
    """``24 h``, ``3 min 20 s``: the two largest units that are not 0."""
    parts, rest = [], int(ms)
    for size, name in _UNITS:
        count, rest = divmod(rest, size)
        if name == "d" and count == 1 and not rest:
            return "24 h"
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"
