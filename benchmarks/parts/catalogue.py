"""All parts, in the order in which they run."""

from __future__ import annotations

from benchmarks.parts import (
    connections,
    default,
    lookups,
    memory,
    paced,
    reactors,
    registering,
    start,
    storm,
    topics,
    wide,
)

_MODULES = (start, lookups, paced, default, reactors, registering, storm, memory, wide, topics, connections)
PARTS = [module.PART for module in _MODULES]
