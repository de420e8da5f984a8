"""All parts, in the order in which they run."""

from __future__ import annotations

from benchmarks.parts import default, lookups, memory, paced, reactors, registering, start, storm
from benchmarks.parts.growing import connections, topics, wide

_MODULES = (start, lookups, paced, default, reactors, registering, storm, memory, wide, topics, connections)
PARTS = [module.PART for module in _MODULES]
