"""The default beside ``--reactors 1``: at a part of what one reactor can answer, and at all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.bench import Bench, failing, having, measure_lookups, measure_paced
from benchmarks.failures import CellFailed
from benchmarks.brokers import Fleet, fleets
from benchmarks.kinds import DEFAULT, REACTORS_1
from benchmarks.load import lookups
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import DEPTHS, FEW, LOADS, MANY, TOPICS, Plan
from benchmarks.record import Cell, Record
from benchmarks.running import Needs, Server, running
from benchmarks.warm import warm_lookups

CALIBRATIONS = 3
CAPACITY = "what --reactors 1 answers, {connections:,} connections, 1 outstanding"


@dataclass(frozen=True)
class Load:
    """One cell. ``depth`` 0: at ``share`` of the capacity, else a closed loop with so many outstanding."""

    connections: int
    share: float
    loop: str
    depth: int = 0

    @property
    def what(self) -> str:
        """What it is called in the tables."""
        outstanding = f", {self.depth} outstanding" if self.depth else ""
        return f"{self.share:.0%} load, {self.loop} loop, {self.connections:,} connections{outstanding}"


def _loads() -> Iterator[Load]:
    for connections in (FEW, MANY):
        yield from (Load(connections, share, "closed") for share in LOADS if share < 1)
        yield from (Load(connections, 1.0, "closed", depth) for depth in DEPTHS)
        yield from (Load(connections, share, "open") for share in LOADS)


CELLS = list(_loads())


def run(bench: Bench, record: Record) -> None:
    """Both servers in turn."""
    plan = bench.plan
    with (
        running(bench.choose(DEFAULT, REACTORS_1), bench.folder, Needs(), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        warm_lookups(bench, record, servers, TOPICS)
        capacity = {connections: _capacity(bench, record, servers, connections) for connections in (FEW, MANY)}
        for number, order in bench.turns(record, plan.default_rounds, servers):
            for load in CELLS:
                bench.say(f"round {number + 1} of {plan.default_rounds}: {load.what}")
                for server in order:
                    key = server.kind.key
                    if not record.is_hopeless(key, load.what):
                        with record.cell(key, number, load.what) as cell:
                            _measure(cell, server, found[key], load, capacity[load.connections], plan)


def _capacity(bench: Bench, record: Record, servers: list[Server], connections: int) -> float:
    """What 100 % is: the median of some closed loops against one reactor, or the default where that is missing."""
    server = next((one for one in servers if one.kind.key == REACTORS_1), servers[0])
    found = []
    for number in range(CALIBRATIONS):
        with record.cell(server.kind.key, number, CAPACITY.format(connections=connections)) as cell:
            load = lookups(server, connections=connections, depth=1, encoding="json", topics=TOPICS,
                           seconds=bench.plan.default_s)  # fmt: skip
            cell.add("requests/s", load.per_second)
            found.append(load.per_second)
    if not found:
        raise CellFailed(f"{server.kind.label} answered no closed loop over {connections:,} connections")
    return median(found)


def _measure(cell: Cell, server: Server, fleet: Fleet, load: Load, capacity: float, plan: Plan) -> None:
    if load.depth:
        measure_lookups(cell, server, fleet, connections=load.connections, depth=load.depth, encoding="json",
                        topics=TOPICS, seconds=plan.default_s)  # fmt: skip
    else:
        measure_paced(cell, server, fleet, connections=load.connections, rate=load.share * capacity, loop=load.loop,
                      topics=TOPICS, seconds=plan.default_s, warm_s=plan.default_warm_s)  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"100 % is what one reactor answers in a closed loop with 1 outstanding (median of {CALIBRATIONS}), for "
        f"{FEW} and for {MANY:,} connections. Closed loop below 100 %: each connection is a client that pauses "
        "between its requests. Open loop: as the paced lookups above. At 100 % open the load generator works at its "
        f"own limit, too. {plan.default_s:g} s a cell and round. The default has as many reactors as it decides for."
    )


PART = Part("default", "The default beside one reactor", method, run)
