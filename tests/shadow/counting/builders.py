"""Pairs and counts for tests."""

from __future__ import annotations

from typing import Any

from rocketns.shadow.counting.kept import Difference, Kept
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair

PAIR = Pair(3, "10.0.0.1:4000", 1_700_000_000_000, b"request", b"upstream", None, 1.0, None)


def kept(question: str = "q", **fields: Any) -> Kept:
    known = {
        "question": question, "at_ms": PAIR.at_ms, "peer": PAIR.peer, "client": "JAVA 5.5.0",
        "request": "GET_ROUTEINFO_BY_TOPIC", "outcome": Outcome.DIFFERENT, "note": "",
        "differences": (Difference("body.x", "1", "2"),), "pair": PAIR,
    }  # fmt: skip
    return Kept(**known | fields)
