"""Where the numbers of one scrape come from."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.admin.gate import Gate
from rocketns.admin.metrics.sizes import Sizes
from rocketns.admin.metrics.tally import Tally
from rocketns.admin.pulse import Pulse
from rocketns.admin.view import Log
from rocketns.server.control.measures import Measures
from rocketns.server.facts.facts import Facts


@dataclass(frozen=True, slots=True)
class Scene:
    """All sources. ``sizes`` is a copy; the others are read as they are now. ``log`` is None in tests."""

    facts: Facts
    measures: Measures
    tally: Tally
    pulse: Pulse
    gate: Gate
    sizes: Sizes
    log: Log | None = None
