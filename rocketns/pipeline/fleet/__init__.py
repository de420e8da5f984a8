"""A fleet that never was: journals of any size with seeded faults, as real name servers would have written them, and
the truth about them. The same FleetSpec makes the same bytes."""

from rocketns.pipeline.fleet.make import Truth, make_fleet, save_truth
from rocketns.pipeline.fleet.spec import Faults, FleetSpec

__all__ = ["Faults", "FleetSpec", "Truth", "make_fleet", "save_truth"]
