"""The fleets whose journals are audited. Days and brokers grow apart from each other, everything else with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rocketns.pipeline.synthetic import Faults, FleetSpec, make_fleet

DAY_S = 86_400
# A tenth of the large fleet: 20 brokers with 500 topics. In four days it has the faults of the demo.
PART_BROKERS, PART_DAYS = 20, 4
TOPICS_PER_BROKER = 25
GROUPS_PER_PART = 3


class Size(NamedTuple):
    """What a fleet is made of."""

    days: int
    brokers: int

    def __str__(self) -> str:
        return f"{self.days}x{self.brokers}"


BASE = Size(4, 20)
# The longest, with most brokers, and then those between, which show how far a line is off.
SIZES = (BASE, Size(16, 20), Size(4, 80), Size(8, 20), Size(4, 40))


def fleet(size: Size) -> FleetSpec:
    """Multiples of PART_DAYS and PART_BROKERS have exact multiples of the faults. Name servers restart with the days
    only. The default rotation of the journal."""
    days, brokers = size
    parts = brokers // PART_BROKERS
    stages = days // PART_DAYS
    faults = Faults()
    faults = faults.times(stages * parts)._replace(
        restarts=stages, kills=stages, bursts=0, typos=0, corrupt_lines=0, dead_topics=faults.dead_topics * parts,
        pollers=parts, lone_topics=parts, zone_topics=parts, grown=faults.grown * parts,
    )  # fmt: skip
    return replace(
        FleetSpec.large(days * DAY_S), brokers=brokers, topics=TOPICS_PER_BROKER * brokers,
        groups=GROUPS_PER_PART * parts, faults=faults,
    )  # fmt: skip


def written(size: Size, folder: Path, say: Callable[[str], None]) -> Path:
    """The journal of the fleet below the folder, which is made once."""
    journal = folder / f"journal-{size}"
    if not journal.exists():
        new = folder / f"journal-{size}.new"
        make_fleet(fleet(size), new, say)
        new.rename(journal)
    return journal
