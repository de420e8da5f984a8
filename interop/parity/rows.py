"""The rows of the Java server's behaviour that the scenarios compare."""

from __future__ import annotations

from collections import defaultdict

from interop.parity.pairs.starts import STARTS
from interop.parity.scenarios import SCENARIOS


def compared() -> dict[str, list[str]]:
    """Row → the scenarios and starts that name it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    named = [(one.name, one.rows) for one in SCENARIOS.values()] + [(one.name, one.rows) for one in STARTS]
    for name, rows in named:
        for row in rows.split():
            found[row].append(name)
    return dict(found)
