"""A spec → journals below a folder, and the truth about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.pipeline.synthetic.expected import truth_of
from tests.pipeline.synthetic.journal.effects import sight_of
from tests.pipeline.synthetic.journal.observed import ObservedWriter
from tests.pipeline.synthetic.journal.write import JournalWriter
from tests.pipeline.synthetic.scenario.plan import make_plan
from tests.pipeline.synthetic.scenario.spec import FleetSpec
from tests.pipeline.synthetic.scenario.world import build

Truth = dict[str, Any]


def make_fleet(spec: FleetSpec, journal: Path, say: Callable[[str], None] = lambda _: None) -> Truth:
    """Write the journals below ``journal`` (so that ``v=1`` is in it) and return the truth, which JSON can hold.

    ValueError where the faults have no room in the fleet's time. Files of an earlier fleet are not removed.
    """
    world = build(spec)
    plan = make_plan(world)
    sights = [sight_of(world, plan, ns) for ns in range(spec.name_servers)]
    truth = {"spec": asdict(spec) | {"faults": spec.faults._asdict()}} | truth_of(world, plan, sights)
    truth["name_servers"] = []
    for ns, name in enumerate(world.name_servers):
        writer = ObservedWriter if ns in spec.observed else JournalWriter
        written = writer(world, plan, ns, sights[ns], journal).write()
        say(f"{name}: {written.records} records, {written.files} files, {written.bytes / 1e6:.0f} MB")
        lost = [row._asdict() for row in written.lost]
        boots = [{"t1": b.start_ms * 1000, "t2": b.end_ms * 1000, "end": b.end} for b in plan.boots[ns]]
        offset_us = 0 if ns in spec.observed else world.offsets_ms[ns] * 1000
        row = {"ns": name, "offset_us": offset_us, "boots": boots, "lost": lost}
        row |= {"records": written.records, "files": written.files, "bytes": written.bytes}
        truth["name_servers"].append(row)
    return truth
