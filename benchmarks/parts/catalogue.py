"""All parts, in the order in which they run."""

from __future__ import annotations

from benchmarks.parts import (
    connections,
    lookups,
    memory,
    paced,
    reactors,
    registering,
    start,
    storm,
    tls,
    topics,
    wide,
)

_MODULES = (start, lookups, tls, paced, reactors, registering, storm, memory, wide, topics, connections)
PARTS = [module.PART for module in _MODULES]
