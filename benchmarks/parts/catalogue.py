"""All parts, in the order in which they run."""

from __future__ import annotations

from benchmarks.parts import connections, lookups, memory, reactors, registering, start, storm, topics, wide

PARTS = [module.PART for module in (start, lookups, reactors, registering, storm, memory, wide, topics, connections)]
