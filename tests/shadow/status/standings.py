"""A shadow as it stands, with texts of a hostile peer."""

from __future__ import annotations

from typing import Any

from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.kept import Difference
from rocketns.shadow.counting.standing import Standing
from rocketns.shadow.outcome import Outcome
from tests.shadow.counting.builders import PAIR, kept

HOSTILE = '"><script>alert(1)</script>&\u202e'


def hostile_counts() -> Counts:
    counts = Counts(skipped=2)
    counts.add(105, Outcome.EQUAL, 40)
    counts.listed["limits"] += 7
    counts.add_client(HOSTILE)
    difference = Difference(f"body.{HOSTILE}", HOSTILE, HOSTILE)
    known: dict[str, Any] = {"peer": HOSTILE, "client": HOSTILE, "request": HOSTILE, "note": HOSTILE}
    counts.add_unwanted(106, Outcome.DIFFERENT, kept(differences=(difference,), **known))
    return counts


def standing(counts: Counts | None = None, **fields: Any) -> Standing:
    known = {"upstream": "java:9876", "began_ms": PAIR.at_ms, "now_ms": PAIR.at_ms + 60_000, "relay": {"open": 3}}
    return Standing(hostile_counts() if counts is None else counts, **known | fields)
