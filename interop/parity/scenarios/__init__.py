"""All scenarios, by name."""

from __future__ import annotations

from itertools import count

from interop.parity.language import Form, Scenario, some_forms
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
ALL = [scenario for module in MODULES for scenario in module.SCENARIOS]
SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in ALL}


def cases() -> list[tuple[Scenario, Form]]:
    """Every scenario in each of its forms, those of one setup together."""
    numbers = count()
    every = [
        (scenario, form) for scenario in SCENARIOS.values() for form in scenario.forms or some_forms(next(numbers))
    ]
    setups = list(dict.fromkeys(scenario.setup for scenario in SCENARIOS.values()))
    return sorted(every, key=lambda case: setups.index(case[0].setup))
