"""All scenarios, in modules of one subject each."""

from __future__ import annotations

from interop.parity.scenarios import (
    connections,
    deliberate,
    framing,
    groups,
    headers,
    leaving,
    processes,
    registering,
    restarting,
    routes,
    settings,
    topics,
)

MODULES = (
    headers, framing, settings, registering, groups, leaving, routes, topics, connections, deliberate, restarting,
    processes,
)  # fmt: skip
