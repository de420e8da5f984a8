"""A synthetic fleet: journals of any size with seeded faults, as real name servers would write them, and the truth.

The same FleetSpec makes the same bytes.
"""

from tests.pipeline.synthetic.make import Truth, make_fleet
from tests.pipeline.synthetic.scenario.spec import Faults, FleetSpec

__all__ = ["Faults", "FleetSpec", "Truth", "make_fleet"]
