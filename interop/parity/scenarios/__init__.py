"""All scenarios, in modules of one subject each. Those that stop a server come last."""

from __future__ import annotations

from interop.parity.scenarios import connections, deliberate, headers, leaving, registering, routes, settings

MODULES = (headers, connections, registering, routes, leaving, deliberate, settings)
